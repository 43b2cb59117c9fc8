# SPDX-License-Identifier: MIT
# nix build '.?dir=packaging/nix', in a clone of the repository.
{
  description = "Kubernetes informers in C on one libuv loop";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forEach = make: nixpkgs.lib.genAttrs systems
        (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "kinformer";
          version = "0.1.0";
          src = ../..;
          outputs = [ "out" "dev" ];

          nativeBuildInputs = [ pkgs.meson pkgs.ninja pkgs.pkg-config pkgs.python3 ];
          buildInputs = [ pkgs.libyaml pkgs.llhttp pkgs.openssl pkgs.zlib pkgs.zstd ];
          # Programs call libuv, and read an object's document with yyjson.
          propagatedBuildInputs = [ pkgs.libuv pkgs.yyjson ];
          nativeCheckInputs = [ pkgs.openssl ];
          checkInputs = [ pkgs.cmocka ];

          mesonBuildType = "release";
          mesonFlags = [
            "--wrap-mode=nofallback"
            "-Dzlib=enabled"
            "-Dzstd=enabled"
            "-Dkubeconfig=enabled"
            "-Dtests=true"
            "-Dexamples=false"
            "-Dbench=false"
          ];
          doCheck = true;
          mesonCheckFlags = [ "--suite" "unit" "--suite" "flow" "--suite" "model" ];

          meta = {
            description = "Kubernetes informers in C on one libuv loop";
            license = nixpkgs.lib.licenses.mit;
            platforms = systems;
            mainProgram = "kinformer";
          };
        };
      });

      devShells = forEach (pkgs: {
        default = pkgs.mkShell {
          inputsFrom = [ self.packages.${pkgs.stdenv.hostPlatform.system}.default ];
        };
      });
    };
}
