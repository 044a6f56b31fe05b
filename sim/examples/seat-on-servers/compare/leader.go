// Competes for a Lease, with the timers that client-go's documentation shows; arguments: the API server, the Lease's name
// and its own identity.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func main() {
	// It ends with the process that has started it.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  meta.ObjectMeta{Name: os.Args[2], Namespace: "default"},
			Client:     coordination.NewForConfigOrDie(&rest.Config{Host: os.Args[1]}),
			LockConfig: resourcelock.ResourceLockConfig{Identity: os.Args[3]},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { fmt.Println("leads") },
			OnStoppedLeading: func() { os.Exit(1) },
		},
	})
}
