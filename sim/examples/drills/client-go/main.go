// A billing service that elects its leader with client-go's package leaderelection, as its example shows, with shorter timers.
//
// Only the leader issues invoices. With -fence it shows the Lease's leaseTransitions as its fencing token, a count that begins anew if
// somebody deletes the Lease.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	namespace = "default"
	name      = "billing"
)

var (
	id     = flag.String("id", "", "")
	server = flag.String("kubernetes", "", "")
	store  = flag.String("store", "", "")
	fence  = flag.Bool("fence", false, "")
)

func main() {
	flag.Parse()
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://" + *server})
	// Of this process alone: one that is started again must not take its predecessor's Lease for its own.
	identity := *id + "_" + string(uuid.NewUUID())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	var issuing sync.Mutex
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-asked
		// Cancelling releases the Lease, and nothing may be issued after that.
		issuing.Lock()
		cancel()
	}()

	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  meta.ObjectMeta{Name: name, Namespace: namespace},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   4 * time.Second,
		RenewDeadline:   3 * time.Second,
		RetryPeriod:     500 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				defer cancel()
				token, err := transitions(ctx, client, identity)
				for err == nil && ctx.Err() == nil {
					issuing.Lock()
					err = issue(token)
					issuing.Unlock()
					time.Sleep(100 * time.Millisecond)
				}
				fmt.Printf("%s issues no more: %v\n", *id, err)
			},
			OnStoppedLeading: func() { os.Exit(0) },
		},
	})
}

// The fencing token. It is read past the elector's own lock, which keeps the version that it has read last for its next update.
func transitions(ctx context.Context, client kubernetes.Interface, identity string) (int32, error) {
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return 0, err
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != identity || lease.Spec.LeaseTransitions == nil {
		return 0, fmt.Errorf("the Lease is another's by now")
	}
	return *lease.Spec.LeaseTransitions, nil
}

func issue(token int32) error {
	url := "http://" + *store + "/invoices"
	if *fence {
		url += fmt.Sprintf("?token=%d", token)
	}
	answer, err := http.Post(url, "text/plain", nil)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the store answers %s", answer.Status)
	}
	return nil
}
