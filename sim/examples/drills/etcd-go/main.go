// A billing service that elects its leader with etcd's own package, concurrency, as its documentation shows.
//
// Only the leader issues invoices. With -fence it shows the revision at which it won as its fencing token.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

var (
	id    = flag.String("id", "", "")
	etcd  = flag.String("etcd", "", "")
	store = flag.String("store", "", "")
	fence = flag.Bool("fence", false, "")
)

func main() {
	flag.Parse()
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(*etcd, ","), DialTimeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	for {
		if err := campaign(client); err != nil {
			fmt.Printf("%s: %v\n", *id, err)
			time.Sleep(500 * time.Millisecond)
		}
	}
}

func campaign(client *clientv3.Client) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(4))
	if err != nil {
		return err
	}
	defer session.Close()
	election := concurrency.NewElection(session, "/billing/")
	if err := election.Campaign(context.Background(), *id); err != nil {
		return err
	}
	fmt.Printf("%s leads with token %d\n", *id, election.Rev())
	defer fmt.Printf("%s leads no more\n", *id)
	for {
		select {
		case <-session.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
			if !issue(election.Rev()) {
				return nil
			}
		}
	}
}

func issue(token int64) bool {
	url := "http://" + *store + "/invoices"
	if *fence {
		url += fmt.Sprintf("?token=%d", token)
	}
	answer, err := http.Post(url, "text/plain", nil)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
