/* SPDX-License-Identifier: MIT */
#include "schema_types.h"

/* The types of Kubernetes 1.36 that the built-in resources consist of: their
 * fields, and what a merge has to know of each. test/kubectl holds them against
 * the OpenAPI documents that Kubernetes publishes.
 *
 * "@PREFIX" begins the names of the types that follow. A type is its name and
 * its fields, or its name and "=" with a form:
 *
 *   Name! field*:FORM ...     ! the type is atomic; * the field is required
 *
 * FORM is s (string), y (bytes), d (date and time), i (int32), l (int64),
 * n (double), b (boolean), q (quantity), o (integer or string), * (any value),
 * {} (any object), {FORM} (a map), [FORM] (a list), or the name of a type.
 * Within the brackets of a list follow
 *
 *   /KEY,KEY   the list is a map by these keys      %   the list is a set
 *   ~KEY       a strategic merge patch merges by this key; ~ alone: by value
 *   +          ... and knows $retainKeys
 *
 * and after the form ! (atomic), + ($retainKeys), =TEXT (the default). */
const char *const SCHEMA_TYPES[] = {
    /* clang-format off */
  "@io.k8s.api.apps.v1.",
  "Deployment apiVersion:s kind:s metadata:ObjectMeta "
  "spec:DeploymentSpec status:DeploymentStatus",
  "DeploymentCondition lastTransitionTime:Time lastUpdateTime:Time "
  "message:s reason:s status*:s type*:s",
  "DeploymentSpec minReadySeconds:i paused:b "
  "progressDeadlineSeconds:i replicas:i revisionHistoryLimit:i "
  "selector*:LabelSelector strategy:DeploymentStrategy+ "
  "template*:PodTemplateSpec",
  "DeploymentStatus availableReplicas:i collisionCount:i "
  "conditions:[DeploymentCondition/type~type] observedGeneration:l "
  "readyReplicas:i replicas:i terminatingReplicas:i "
  "unavailableReplicas:i updatedReplicas:i",
  "DeploymentStrategy rollingUpdate:RollingUpdateDeployment type:s",
  "ReplicaSet apiVersion:s kind:s metadata:ObjectMeta "
  "spec:ReplicaSetSpec status:ReplicaSetStatus",
  "ReplicaSetCondition lastTransitionTime:Time message:s reason:s "
  "status*:s type*:s",
  "ReplicaSetSpec minReadySeconds:i replicas:i "
  "selector*:LabelSelector template:PodTemplateSpec",
  "ReplicaSetStatus availableReplicas:i "
  "conditions:[ReplicaSetCondition/type~type] fullyLabeledReplicas:i "
  "observedGeneration:l readyReplicas:i replicas*:i "
  "terminatingReplicas:i",
  "RollingUpdateDeployment maxSurge:IntOrString "
  "maxUnavailable:IntOrString",
  "@io.k8s.api.coordination.v1.",
  "Lease apiVersion:s kind:s metadata:ObjectMeta spec:LeaseSpec",
  "LeaseSpec acquireTime:MicroTime holderIdentity:s "
  "leaseDurationSeconds:i leaseTransitions:i preferredHolder:s "
  "renewTime:MicroTime strategy:s",
  "@io.k8s.api.core.v1.",
  "AWSElasticBlockStoreVolumeSource fsType:s partition:i readOnly:b "
  "volumeID*:s",
  "Affinity nodeAffinity:NodeAffinity podAffinity:PodAffinity "
  "podAntiAffinity:PodAntiAffinity",
  "AppArmorProfile localhostProfile:s type*:s",
  "AttachedVolume devicePath*:s name*:s",
  "AzureDiskVolumeSource cachingMode:s=ReadWrite diskName*:s "
  "diskURI*:s fsType:s=ext4 kind:s=Shared readOnly:b",
  "AzureFileVolumeSource readOnly:b secretName*:s shareName*:s",
  "CSIVolumeSource driver*:s fsType:s "
  "nodePublishSecretRef:LocalObjectReference readOnly:b "
  "volumeAttributes:{s}",
  "Capabilities add:[s] drop:[s]",
  "CephFSVolumeSource monitors*:[s] path:s readOnly:b secretFile:s "
  "secretRef:LocalObjectReference user:s",
  "CinderVolumeSource fsType:s readOnly:b "
  "secretRef:LocalObjectReference volumeID*:s",
  "ClientIPConfig timeoutSeconds:i",
  "ClusterTrustBundleProjection labelSelector:LabelSelector name:s "
  "optional:b path*:s signerName:s",
  "ConfigMap apiVersion:s binaryData:{y} data:{s} immutable:b kind:s "
  "metadata:ObjectMeta",
  "ConfigMapEnvSource name:s optional:b",
  "ConfigMapKeySelector! key*:s name:s optional:b",
  "ConfigMapNodeConfigSource kubeletConfigKey*:s name*:s namespace*:s "
  "resourceVersion:s uid:s",
  "ConfigMapProjection items:[KeyToPath] name:s optional:b",
  "ConfigMapVolumeSource defaultMode:i items:[KeyToPath] name:s "
  "optional:b",
  "Container args:[s] command:[s] env:[EnvVar/name~name] "
  "envFrom:[EnvFromSource] image:s imagePullPolicy:s "
  "lifecycle:Lifecycle livenessProbe:Probe name*:s "
  "ports:[ContainerPort/containerPort,protocol~containerPort] "
  "readinessProbe:Probe resizePolicy:[ContainerResizePolicy] "
  "resources:ResourceRequirements restartPolicy:s "
  "restartPolicyRules:[ContainerRestartRule] "
  "securityContext:SecurityContext startupProbe:Probe stdin:b "
  "stdinOnce:b terminationMessagePath:s terminationMessagePolicy:s "
  "tty:b volumeDevices:[VolumeDevice/devicePath~devicePath] "
  "volumeMounts:[VolumeMount/mountPath~mountPath] workingDir:s",
  "ContainerExtendedResourceRequest containerName*:s requestName*:s "
  "resourceName*:s",
  "ContainerImage names:[s] sizeBytes:l",
  "ContainerPort containerPort*:i hostIP:s hostPort:i name:s "
  "protocol:s=TCP",
  "ContainerResizePolicy resourceName*:s restartPolicy*:s",
  "ContainerRestartRule action*:s "
  "exitCodes:ContainerRestartRuleOnExitCodes",
  "ContainerRestartRuleOnExitCodes operator*:s values:[i%]",
  "ContainerState running:ContainerStateRunning "
  "terminated:ContainerStateTerminated waiting:ContainerStateWaiting",
  "ContainerStateRunning startedAt:Time",
  "ContainerStateTerminated containerID:s exitCode*:i finishedAt:Time "
  "message:s reason:s signal:i startedAt:Time",
  "ContainerStateWaiting message:s reason:s",
  "ContainerStatus allocatedResources:{Quantity} "
  "allocatedResourcesStatus:[ResourceStatus/name~name] containerID:s "
  "image*:s imageID*:s lastState:ContainerState name*:s ready*:b "
  "resources:ResourceRequirements restartCount*:i started:b "
  "state:ContainerState stopSignal:s user:ContainerUser "
  "volumeMounts:[VolumeMountStatus/mountPath~mountPath]",
  "ContainerUser linux:LinuxContainerUser",
  "DaemonEndpoint Port*:i",
  "DownwardAPIProjection items:[DownwardAPIVolumeFile]",
  "DownwardAPIVolumeFile fieldRef:ObjectFieldSelector mode:i path*:s "
  "resourceFieldRef:ResourceFieldSelector",
  "DownwardAPIVolumeSource defaultMode:i "
  "items:[DownwardAPIVolumeFile]",
  "EmptyDirVolumeSource medium:s sizeLimit:Quantity",
  "EnvFromSource configMapRef:ConfigMapEnvSource prefix:s "
  "secretRef:SecretEnvSource",
  "EnvVar name*:s value:s valueFrom:EnvVarSource",
  "EnvVarSource configMapKeyRef:ConfigMapKeySelector "
  "fieldRef:ObjectFieldSelector fileKeyRef:FileKeySelector "
  "resourceFieldRef:ResourceFieldSelector "
  "secretKeyRef:SecretKeySelector",
  "EphemeralContainer args:[s] command:[s] env:[EnvVar/name~name] "
  "envFrom:[EnvFromSource] image:s imagePullPolicy:s "
  "lifecycle:Lifecycle livenessProbe:Probe name*:s "
  "ports:[ContainerPort/containerPort,protocol~containerPort] "
  "readinessProbe:Probe resizePolicy:[ContainerResizePolicy] "
  "resources:ResourceRequirements restartPolicy:s "
  "restartPolicyRules:[ContainerRestartRule] "
  "securityContext:SecurityContext startupProbe:Probe stdin:b "
  "stdinOnce:b targetContainerName:s terminationMessagePath:s "
  "terminationMessagePolicy:s tty:b "
  "volumeDevices:[VolumeDevice/devicePath~devicePath] "
  "volumeMounts:[VolumeMount/mountPath~mountPath] workingDir:s",
  "EphemeralVolumeSource "
  "volumeClaimTemplate:PersistentVolumeClaimTemplate",
  "Event action:s apiVersion:s count:i eventTime:MicroTime "
  "firstTimestamp:Time involvedObject*:ObjectReference kind:s "
  "lastTimestamp:Time message:s metadata*:ObjectMeta reason:s "
  "related:ObjectReference reportingComponent:s reportingInstance:s "
  "series:EventSeries source:EventSource type:s",
  "EventSeries count:i lastObservedTime:MicroTime",
  "EventSource component:s host:s",
  "ExecAction command:[s]",
  "FCVolumeSource fsType:s lun:i readOnly:b targetWWNs:[s] wwids:[s]",
  "FileKeySelector! key*:s optional:b path*:s volumeName*:s",
  "FlexVolumeSource driver*:s fsType:s options:{s} readOnly:b "
  "secretRef:LocalObjectReference",
  "FlockerVolumeSource datasetName:s datasetUUID:s",
  "GCEPersistentDiskVolumeSource fsType:s partition:i pdName*:s "
  "readOnly:b",
  "GRPCAction port*:i service:s",
  "GitRepoVolumeSource directory:s repository*:s revision:s",
  "GlusterfsVolumeSource endpoints*:s path*:s readOnly:b",
  "HTTPGetAction host:s httpHeaders:[HTTPHeader] path:s "
  "port*:IntOrString scheme:s",
  "HTTPHeader name*:s value*:s",
  "HostAlias hostnames:[s] ip*:s",
  "HostIP ip*:s",
  "HostPathVolumeSource path*:s type:s",
  "ISCSIVolumeSource chapAuthDiscovery:b chapAuthSession:b fsType:s "
  "initiatorName:s iqn*:s iscsiInterface:s=default lun*:i portals:[s] "
  "readOnly:b secretRef:LocalObjectReference targetPortal*:s",
  "ImageVolumeSource pullPolicy:s reference:s",
  "ImageVolumeStatus imageRef*:s",
  "KeyToPath key*:s mode:i path*:s",
  "Lifecycle postStart:LifecycleHandler preStop:LifecycleHandler "
  "stopSignal:s",
  "LifecycleHandler exec:ExecAction httpGet:HTTPGetAction "
  "sleep:SleepAction tcpSocket:TCPSocketAction",
  "LinuxContainerUser gid*:l supplementalGroups:[l] uid*:l",
  "LoadBalancerIngress hostname:s ip:s ipMode:s ports:[PortStatus]",
  "LoadBalancerStatus ingress:[LoadBalancerIngress]",
  "LocalObjectReference! name:s",
  "NFSVolumeSource path*:s readOnly:b server*:s",
  "Namespace apiVersion:s kind:s metadata:ObjectMeta "
  "spec:NamespaceSpec status:NamespaceStatus",
  "NamespaceCondition lastTransitionTime:Time message:s reason:s "
  "status*:s type*:s",
  "NamespaceSpec finalizers:[s]",
  "NamespaceStatus conditions:[NamespaceCondition/type~type] phase:s",
  "Node apiVersion:s kind:s metadata:ObjectMeta spec:NodeSpec "
  "status:NodeStatus",
  "NodeAddress address*:s type*:s",
  "NodeAffinity "
  "preferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm] "
  "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector",
  "NodeAllocatableResourceClaimStatus containers:[s%] "
  "resourceClaimName*:s resources*:{Quantity}",
  "NodeCondition lastHeartbeatTime:Time lastTransitionTime:Time "
  "message:s reason:s status*:s type*:s",
  "NodeConfigSource configMap:ConfigMapNodeConfigSource",
  "NodeConfigStatus active:NodeConfigSource assigned:NodeConfigSource "
  "error:s lastKnownGood:NodeConfigSource",
  "NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint",
  "NodeFeatures supplementalGroupsPolicy:b",
  "NodeRuntimeHandler features:NodeRuntimeHandlerFeatures name:s",
  "NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:b "
  "userNamespaces:b",
  "NodeSelector! nodeSelectorTerms*:[NodeSelectorTerm]",
  "NodeSelectorRequirement key*:s operator*:s values:[s]",
  "NodeSelectorTerm! matchExpressions:[NodeSelectorRequirement] "
  "matchFields:[NodeSelectorRequirement]",
  "NodeSpec configSource:NodeConfigSource externalID:s podCIDR:s "
  "podCIDRs:[s%~] providerID:s taints:[Taint] unschedulable:b",
  "NodeStatus addresses:[NodeAddress/type~type] "
  "allocatable:{Quantity} capacity:{Quantity} "
  "conditions:[NodeCondition/type~type] config:NodeConfigStatus "
  "daemonEndpoints:NodeDaemonEndpoints declaredFeatures:[s] "
  "features:NodeFeatures images:[ContainerImage] "
  "nodeInfo:NodeSystemInfo phase:s "
  "runtimeHandlers:[NodeRuntimeHandler] "
  "volumesAttached:[AttachedVolume] volumesInUse:[s]",
  "NodeSwapStatus capacity:l",
  "NodeSystemInfo architecture*:s bootID*:s "
  "containerRuntimeVersion*:s kernelVersion*:s kubeProxyVersion*:s "
  "kubeletVersion*:s machineID*:s operatingSystem*:s osImage*:s "
  "swap:NodeSwapStatus systemUUID*:s",
  "ObjectFieldSelector! apiVersion:s fieldPath*:s",
  "ObjectReference! apiVersion:s fieldPath:s kind:s name:s "
  "namespace:s resourceVersion:s uid:s",
  "PersistentVolumeClaimSpec accessModes:[s] "
  "dataSource:TypedLocalObjectReference "
  "dataSourceRef:TypedObjectReference "
  "resources:VolumeResourceRequirements selector:LabelSelector "
  "storageClassName:s volumeAttributesClassName:s volumeMode:s "
  "volumeName:s",
  "PersistentVolumeClaimTemplate metadata:ObjectMeta "
  "spec*:PersistentVolumeClaimSpec",
  "PersistentVolumeClaimVolumeSource claimName*:s readOnly:b",
  "PhotonPersistentDiskVolumeSource fsType:s pdID*:s",
  "Pod apiVersion:s kind:s metadata:ObjectMeta spec:PodSpec "
  "status:PodStatus",
  "PodAffinity "
  "preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm] "
  "requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]",
  "PodAffinityTerm labelSelector:LabelSelector matchLabelKeys:[s] "
  "mismatchLabelKeys:[s] namespaceSelector:LabelSelector "
  "namespaces:[s] topologyKey*:s",
  "PodAntiAffinity "
  "preferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm] "
  "requiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm]",
  "PodCertificateProjection certificateChainPath:s "
  "credentialBundlePath:s keyPath:s keyType*:s maxExpirationSeconds:i "
  "signerName*:s userAnnotations:{s}",
  "PodCondition lastProbeTime:Time lastTransitionTime:Time message:s "
  "observedGeneration:l reason:s status*:s type*:s",
  "PodDNSConfig nameservers:[s] options:[PodDNSConfigOption] "
  "searches:[s]",
  "PodDNSConfigOption name:s value:s",
  "PodExtendedResourceClaimStatus "
  "requestMappings*:[ContainerExtendedResourceRequest] "
  "resourceClaimName*:s",
  "PodIP ip*:s",
  "PodOS name*:s",
  "PodReadinessGate conditionType*:s",
  "PodResourceClaim name*:s resourceClaimName:s "
  "resourceClaimTemplateName:s",
  "PodResourceClaimStatus name*:s resourceClaimName:s",
  "PodSchedulingGate name*:s",
  "PodSchedulingGroup podGroupName:s",
  "PodSecurityContext appArmorProfile:AppArmorProfile fsGroup:l "
  "fsGroupChangePolicy:s runAsGroup:l runAsNonRoot:b runAsUser:l "
  "seLinuxChangePolicy:s seLinuxOptions:SELinuxOptions "
  "seccompProfile:SeccompProfile supplementalGroups:[l] "
  "supplementalGroupsPolicy:s sysctls:[Sysctl] "
  "windowsOptions:WindowsSecurityContextOptions",
  "PodSpec activeDeadlineSeconds:l affinity:Affinity "
  "automountServiceAccountToken:b containers*:[Container/name~name] "
  "dnsConfig:PodDNSConfig dnsPolicy:s enableServiceLinks:b "
  "ephemeralContainers:[EphemeralContainer/name~name] "
  "hostAliases:[HostAlias/ip~ip] hostIPC:b hostNetwork:b hostPID:b "
  "hostUsers:b hostname:s hostnameOverride:s "
  "imagePullSecrets:[LocalObjectReference/name~name] "
  "initContainers:[Container/name~name] nodeName:s nodeSelector:{s}! "
  "os:PodOS overhead:{Quantity} preemptionPolicy:s priority:i "
  "priorityClassName:s readinessGates:[PodReadinessGate] "
  "resourceClaims:[PodResourceClaim/name~name+] "
  "resources:ResourceRequirements restartPolicy:s runtimeClassName:s "
  "schedulerName:s schedulingGates:[PodSchedulingGate/name~name] "
  "schedulingGroup:PodSchedulingGroup "
  "securityContext:PodSecurityContext serviceAccount:s "
  "serviceAccountName:s setHostnameAsFQDN:b shareProcessNamespace:b "
  "subdomain:s terminationGracePeriodSeconds:l "
  "tolerations:[Toleration] "
  "topologySpreadConstraints:[TopologySpreadConstraint/topologyKey,whenUnsatisfiable~topologyKey] "
  "volumes:[Volume/name~name+]",
  "PodStatus allocatedResources:{Quantity} "
  "conditions:[PodCondition/type~type] "
  "containerStatuses:[ContainerStatus] "
  "ephemeralContainerStatuses:[ContainerStatus] "
  "extendedResourceClaimStatus:PodExtendedResourceClaimStatus "
  "hostIP:s hostIPs:[HostIP~ip] "
  "initContainerStatuses:[ContainerStatus] message:s "
  "nodeAllocatableResourceClaimStatuses:[NodeAllocatableResourceClaimStatus] "
  "nominatedNodeName:s observedGeneration:l phase:s podIP:s "
  "podIPs:[PodIP/ip~ip] qosClass:s reason:s resize:s "
  "resourceClaimStatuses:[PodResourceClaimStatus/name~name+] "
  "resources:ResourceRequirements startTime:Time",
  "PodTemplateSpec metadata:ObjectMeta spec:PodSpec",
  "PortStatus error:s port*:i protocol*:s",
  "PortworxVolumeSource fsType:s readOnly:b volumeID*:s",
  "PreferredSchedulingTerm preference*:NodeSelectorTerm weight*:i",
  "Probe exec:ExecAction failureThreshold:i grpc:GRPCAction "
  "httpGet:HTTPGetAction initialDelaySeconds:i periodSeconds:i "
  "successThreshold:i tcpSocket:TCPSocketAction "
  "terminationGracePeriodSeconds:l timeoutSeconds:i",
  "ProjectedVolumeSource defaultMode:i sources:[VolumeProjection]",
  "QuobyteVolumeSource group:s readOnly:b registry*:s tenant:s user:s "
  "volume*:s",
  "RBDVolumeSource fsType:s image*:s keyring:s=/etc/ceph/keyring "
  "monitors*:[s] pool:s=rbd readOnly:b secretRef:LocalObjectReference "
  "user:s=admin",
  "ResourceClaim name*:s request:s",
  "ResourceFieldSelector! containerName:s divisor:Quantity "
  "resource*:s",
  "ResourceHealth health:s message:s resourceID*:s",
  "ResourceRequirements claims:[ResourceClaim/name] limits:{Quantity} "
  "requests:{Quantity}",
  "ResourceStatus name*:s resources:[ResourceHealth/resourceID]",
  "SELinuxOptions level:s role:s type:s user:s",
  "ScaleIOVolumeSource fsType:s=xfs gateway*:s protectionDomain:s "
  "readOnly:b secretRef*:LocalObjectReference sslEnabled:b "
  "storageMode:s=ThinProvisioned storagePool:s system*:s volumeName:s",
  "SeccompProfile localhostProfile:s type*:s",
  "Secret apiVersion:s data:{y} immutable:b kind:s "
  "metadata:ObjectMeta stringData:{s} type:s",
  "SecretEnvSource name:s optional:b",
  "SecretKeySelector! key*:s name:s optional:b",
  "SecretProjection items:[KeyToPath] name:s optional:b",
  "SecretVolumeSource defaultMode:i items:[KeyToPath] optional:b "
  "secretName:s",
  "SecurityContext allowPrivilegeEscalation:b "
  "appArmorProfile:AppArmorProfile capabilities:Capabilities "
  "privileged:b procMount:s readOnlyRootFilesystem:b runAsGroup:l "
  "runAsNonRoot:b runAsUser:l seLinuxOptions:SELinuxOptions "
  "seccompProfile:SeccompProfile "
  "windowsOptions:WindowsSecurityContextOptions",
  "Service apiVersion:s kind:s metadata:ObjectMeta spec:ServiceSpec "
  "status:ServiceStatus",
  "ServiceAccountTokenProjection audience:s expirationSeconds:l "
  "path*:s",
  "ServicePort appProtocol:s name:s nodePort:i port*:i protocol:s=TCP "
  "targetPort:IntOrString",
  "ServiceSpec allocateLoadBalancerNodePorts:b clusterIP:s "
  "clusterIPs:[s] externalIPs:[s] externalName:s "
  "externalTrafficPolicy:s healthCheckNodePort:i "
  "internalTrafficPolicy:s ipFamilies:[s] ipFamilyPolicy:s "
  "loadBalancerClass:s loadBalancerIP:s loadBalancerSourceRanges:[s] "
  "ports:[ServicePort/port,protocol~port] publishNotReadyAddresses:b "
  "selector:{s}! sessionAffinity:s "
  "sessionAffinityConfig:SessionAffinityConfig trafficDistribution:s "
  "type:s",
  "ServiceStatus conditions:[Condition/type~type] "
  "loadBalancer:LoadBalancerStatus",
  "SessionAffinityConfig clientIP:ClientIPConfig",
  "SleepAction seconds*:l",
  "StorageOSVolumeSource fsType:s readOnly:b "
  "secretRef:LocalObjectReference volumeName:s volumeNamespace:s",
  "Sysctl name*:s value*:s",
  "TCPSocketAction host:s port*:IntOrString",
  "Taint effect*:s key*:s timeAdded:Time value:s",
  "Toleration effect:s key:s operator:s tolerationSeconds:l value:s",
  "TopologySpreadConstraint labelSelector:LabelSelector "
  "matchLabelKeys:[s] maxSkew*:i minDomains:i nodeAffinityPolicy:s "
  "nodeTaintsPolicy:s topologyKey*:s whenUnsatisfiable*:s",
  "TypedLocalObjectReference! apiGroup:s kind*:s name*:s",
  "TypedObjectReference apiGroup:s kind*:s name*:s namespace:s",
  "Volume awsElasticBlockStore:AWSElasticBlockStoreVolumeSource "
  "azureDisk:AzureDiskVolumeSource azureFile:AzureFileVolumeSource "
  "cephfs:CephFSVolumeSource cinder:CinderVolumeSource "
  "configMap:ConfigMapVolumeSource csi:CSIVolumeSource "
  "downwardAPI:DownwardAPIVolumeSource emptyDir:EmptyDirVolumeSource "
  "ephemeral:EphemeralVolumeSource fc:FCVolumeSource "
  "flexVolume:FlexVolumeSource flocker:FlockerVolumeSource "
  "gcePersistentDisk:GCEPersistentDiskVolumeSource "
  "gitRepo:GitRepoVolumeSource glusterfs:GlusterfsVolumeSource "
  "hostPath:HostPathVolumeSource image:ImageVolumeSource "
  "iscsi:ISCSIVolumeSource name*:s nfs:NFSVolumeSource "
  "persistentVolumeClaim:PersistentVolumeClaimVolumeSource "
  "photonPersistentDisk:PhotonPersistentDiskVolumeSource "
  "portworxVolume:PortworxVolumeSource "
  "projected:ProjectedVolumeSource quobyte:QuobyteVolumeSource "
  "rbd:RBDVolumeSource scaleIO:ScaleIOVolumeSource "
  "secret:SecretVolumeSource storageos:StorageOSVolumeSource "
  "vsphereVolume:VsphereVirtualDiskVolumeSource",
  "VolumeDevice devicePath*:s name*:s",
  "VolumeMount mountPath*:s mountPropagation:s name*:s readOnly:b "
  "recursiveReadOnly:s subPath:s subPathExpr:s",
  "VolumeMountStatus mountPath*:s name*:s readOnly:b "
  "recursiveReadOnly:s volumeStatus:VolumeStatus",
  "VolumeProjection clusterTrustBundle:ClusterTrustBundleProjection "
  "configMap:ConfigMapProjection downwardAPI:DownwardAPIProjection "
  "podCertificate:PodCertificateProjection secret:SecretProjection "
  "serviceAccountToken:ServiceAccountTokenProjection",
  "VolumeResourceRequirements limits:{Quantity} requests:{Quantity}",
  "VolumeStatus image:ImageVolumeStatus",
  "VsphereVirtualDiskVolumeSource fsType:s storagePolicyID:s "
  "storagePolicyName:s volumePath*:s",
  "WeightedPodAffinityTerm podAffinityTerm*:PodAffinityTerm weight*:i",
  "WindowsSecurityContextOptions gmsaCredentialSpec:s "
  "gmsaCredentialSpecName:s hostProcess:b runAsUserName:s",
  "@io.k8s.api.discovery.v1.",
  "Endpoint addresses*:[s%] conditions:EndpointConditions "
  "deprecatedTopology:{s} hints:EndpointHints hostname:s nodeName:s "
  "targetRef:ObjectReference zone:s",
  "EndpointConditions ready:b serving:b terminating:b",
  "EndpointHints forNodes:[ForNode] forZones:[ForZone]",
  "EndpointPort! appProtocol:s name:s port:i protocol:s",
  "EndpointSlice addressType*:s apiVersion:s endpoints:[Endpoint] "
  "kind:s metadata:ObjectMeta ports:[EndpointPort]",
  "ForNode name*:s",
  "ForZone name*:s",
  "@io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.",
  "CustomResourceColumnDefinition description:s format:s jsonPath*:s "
  "name*:s priority:i type*:s",
  "CustomResourceConversion strategy*:s webhook:WebhookConversion",
  "CustomResourceDefinition apiVersion:s kind:s metadata:ObjectMeta "
  "spec*:CustomResourceDefinitionSpec "
  "status:CustomResourceDefinitionStatus",
  "CustomResourceDefinitionCondition lastTransitionTime:Time "
  "message:s observedGeneration:l reason:s status*:s type*:s",
  "CustomResourceDefinitionNames categories:[s] kind*:s listKind:s "
  "plural*:s shortNames:[s] singular:s",
  "CustomResourceDefinitionSpec conversion:CustomResourceConversion "
  "group*:s names*:CustomResourceDefinitionNames "
  "preserveUnknownFields:b scope*:s "
  "versions*:[CustomResourceDefinitionVersion]",
  "CustomResourceDefinitionStatus "
  "acceptedNames:CustomResourceDefinitionNames "
  "conditions:[CustomResourceDefinitionCondition/type] "
  "observedGeneration:l storedVersions:[s]",
  "CustomResourceDefinitionVersion "
  "additionalPrinterColumns:[CustomResourceColumnDefinition] "
  "deprecated:b deprecationWarning:s name*:s "
  "schema:CustomResourceValidation selectableFields:[SelectableField] "
  "served*:b storage*:b subresources:CustomResourceSubresources",
  "CustomResourceSubresourceScale labelSelectorPath:s "
  "specReplicasPath*:s statusReplicasPath*:s",
  "CustomResourceSubresourceStatus ={}",
  "CustomResourceSubresources scale:CustomResourceSubresourceScale "
  "status:CustomResourceSubresourceStatus",
  "CustomResourceValidation openAPIV3Schema:JSONSchemaProps",
  "ExternalDocumentation description:s url:s",
  "JSON =*",
  "JSONSchemaProps $ref:s $schema:s "
  "additionalItems:JSONSchemaPropsOrBool "
  "additionalProperties:JSONSchemaPropsOrBool allOf:[JSONSchemaProps] "
  "anyOf:[JSONSchemaProps] default:JSON definitions:{JSONSchemaProps} "
  "dependencies:{JSONSchemaPropsOrStringArray} description:s "
  "enum:[JSON] example:JSON exclusiveMaximum:b exclusiveMinimum:b "
  "externalDocs:ExternalDocumentation format:s id:s "
  "items:JSONSchemaPropsOrArray maxItems:l maxLength:l "
  "maxProperties:l maximum:n minItems:l minLength:l minProperties:l "
  "minimum:n multipleOf:n not:JSONSchemaProps nullable:b "
  "oneOf:[JSONSchemaProps] pattern:s "
  "patternProperties:{JSONSchemaProps} properties:{JSONSchemaProps} "
  "required:[s] title:s type:s uniqueItems:b "
  "x-kubernetes-embedded-resource:b x-kubernetes-int-or-string:b "
  "x-kubernetes-list-map-keys:[s] x-kubernetes-list-type:s "
  "x-kubernetes-map-type:s x-kubernetes-preserve-unknown-fields:b "
  "x-kubernetes-validations:[ValidationRule/rule~rule]",
  "JSONSchemaPropsOrArray =*",
  "JSONSchemaPropsOrBool =*",
  "JSONSchemaPropsOrStringArray =*",
  "SelectableField jsonPath*:s",
  "ServiceReference name*:s namespace*:s path:s port:i",
  "ValidationRule fieldPath:s message:s messageExpression:s "
  "optionalOldSelf:b reason:s rule*:s",
  "WebhookClientConfig caBundle:y service:ServiceReference url:s",
  "WebhookConversion clientConfig:WebhookClientConfig "
  "conversionReviewVersions*:[s]",
  "@io.k8s.apimachinery.pkg.api.resource.",
  "Quantity =q",
  "@io.k8s.apimachinery.pkg.apis.meta.v1.",
  "Condition lastTransitionTime*:Time message*:s observedGeneration:l "
  "reason*:s status*:s type*:s",
  "FieldsV1 ={}",
  "LabelSelector! matchExpressions:[LabelSelectorRequirement] "
  "matchLabels:{s}",
  "LabelSelectorRequirement key*:s operator*:s values:[s]",
  "ManagedFieldsEntry apiVersion:s fieldsType:s fieldsV1:FieldsV1 "
  "manager:s operation:s subresource:s time:Time",
  "MicroTime =d",
  "ObjectMeta annotations:{s} creationTimestamp:Time "
  "deletionGracePeriodSeconds:l deletionTimestamp:Time "
  "finalizers:[s%~] generateName:s generation:l labels:{s} "
  "managedFields:[ManagedFieldsEntry] name:s namespace:s "
  "ownerReferences:[OwnerReference/uid~uid] resourceVersion:s "
  "selfLink:s uid:s",
  "OwnerReference! apiVersion*:s blockOwnerDeletion:b controller:b "
  "kind*:s name*:s uid*:s",
  "Time =d",
  "@io.k8s.apimachinery.pkg.util.intstr.",
  "IntOrString =o",
    /* clang-format on */
    NULL,
};
