// An API server that has Leases only: Kubernetes' own generic server with its own registry of Leases and its own storage
// in etcd, over plain HTTP. It has no authentication, admission or namespaces, and no other kinds of objects.
//
// It is compiled within Kubernetes' source. It starts the etcd that it stores in, so that both are one process to whoever
// starts and kills it.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/rest"
	generated "k8s.io/kubernetes/cmd/fencepost-leases/openapi"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	coordination "k8s.io/kubernetes/pkg/registry/coordination/rest"
)

func main() {
	address := flag.String("address", "", "where to listen, as IP:PORT")
	etcd := flag.String("etcd", "etcd", "the program etcd")
	client := flag.String("etcd-client", "", "etcd's address, as IP:PORT")
	peer := flag.String("etcd-peer", "", "etcd's address for peers, as IP:PORT")
	data := flag.String("data", "", "etcd's folder")
	flag.Parse()
	// The kernel kills the child with the thread that has started it.
	runtime.LockOSThread()
	if err := run(*address, *etcd, "http://"+*client, "http://"+*peer, *data); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, etcd, client, peer, data string) error {
	stopped := server.SetupSignalHandler()
	ended, err := startEtcd(etcd, client, peer, data)
	if err != nil {
		return err
	}
	leases, err := leases(address, client)
	if err != nil {
		return err
	}
	prepared := leases.PrepareRun()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	insecure := server.DeprecatedInsecureServingInfo{Listener: listener, Name: "leases"}
	if err := insecure.Serve(leases.Handler, leases.ShutdownTimeout, stopped); err != nil {
		return err
	}
	if _, err := prepared.NonBlockingRun(stopped); err != nil {
		return err
	}
	select {
	case <-stopped:
		return nil
	case err := <-ended:
		return fmt.Errorf("etcd ended: %v", err)
	}
}

// Starts etcd, which is killed with this process.
func startEtcd(program, client, peer, data string) (<-chan error, error) {
	command := exec.Command(program, "--name", "fencepost", "--data-dir", data,
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "fencepost="+peer,
		"--logger", "zap", "--log-level", "error")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return ended, nil
}

func leases(address, etcd string) (*server.GenericAPIServer, error) {
	config := server.NewConfig(legacyscheme.Codecs)
	config.ExternalAddress = address
	config.LoopbackClientConfig = &rest.Config{Host: "http://" + address}
	config.Authentication.Authenticator = server.InsecureSuperuser{}
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.EnableProfiling = false
	// What server-side apply knows of a Lease's fields.
	config.OpenAPIConfig = server.DefaultOpenAPIConfig(generated.GetOpenAPIDefinitions, openapi.NewDefinitionNamer(legacyscheme.Scheme))
	config.OpenAPIConfig.Info.Title = "Leases"
	kinds := storage.NewResourceConfig()
	kinds.EnableVersions(coordinationv1.SchemeGroupVersion)
	kept := options.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	kept.StorageConfig.Transport.ServerList = []string{etcd}
	// As kube-apiserver stores them.
	kept.DefaultStorageMediaType = "application/vnd.kubernetes.protobuf"
	factory := storage.NewDefaultStorageFactory(kept.StorageConfig, kept.DefaultStorageMediaType, legacyscheme.Codecs,
		storage.NewDefaultResourceEncodingConfig(legacyscheme.Scheme), kinds, nil)
	if err := kept.ApplyWithStorageFactoryTo(factory, config); err != nil {
		return nil, err
	}
	leases, err := config.Complete(nil).New("leases", server.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	group, _, err := coordination.RESTStorageProvider{}.NewRESTStorage(kinds, config.RESTOptionsGetter)
	if err != nil {
		return nil, err
	}
	return leases, leases.InstallAPIGroup(&group)
}
