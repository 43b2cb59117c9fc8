# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Builds the commit that is checked out in the clone with this file:
#   brew tap-new local/kinformer
#   cp packaging/homebrew/kinformer.rb "$(brew --repository local/kinformer)/Formula/"
#   HOMEBREW_KINFORMER_CLONE=$PWD brew install --HEAD local/kinformer/kinformer
class Kinformer < Formula
  desc "Kubernetes informers in C on one libuv loop"
  license "MIT"
  head "file://#{ENV.fetch("HOMEBREW_KINFORMER_CLONE", "")}", using: :git

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => [:build, :test]
  depends_on "libuv"
  depends_on "libyaml"
  depends_on "llhttp"
  depends_on "openssl@3"
  depends_on "yyjson"
  depends_on "zstd"
  uses_from_macos "zlib"

  def install
    system "meson", "setup", "build", *std_meson_args, "--default-library=both",
           "--wrap-mode=nofallback", "-Dzlib=enabled", "-Dzstd=enabled", "-Dkubeconfig=enabled",
           "-Dtests=false", "-Dexamples=false", "-Dbench=false"
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    (testpath/"test.c").write <<~C
      #include <string.h>
      #include <kin/kin.h>
      #include <kin/version.h>
      int main(void) { return strcmp(kin_version_string(), KIN_VERSION_STRING); }
    C
    flags = shell_output("pkgconf --cflags --libs kinformer").chomp.split
    system ENV.cc, "test.c", "-o", "test", *flags
    system "./test"
    output = pipe_output("#{bin}/kin-apisim --port 0 --run-for 1")
    assert_match "listening on http://127.0.0.1", output
  end
end
