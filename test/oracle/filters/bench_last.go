package main

import (
	"fmt"
	"runtime"
	"time"
)

// benchOnlyLast asks for any node where only the last one takes the pod, so that all have to be looked at. The cluster and
// the pods are those of test/bench/filters_bench: ten pods on each node, one of which repels its like by hostname; the
// last node is larger, alone in its zone, and has no such pod.
func benchOnlyLast(nodes, count int) error {
	lonely := M{"podAntiAffinity": M{"requiredDuringSchedulingIgnoredDuringExecution": A{M{"topologyKey": hostKey, "labelSelector": M{"matchLabels": M{"app": "lonely"}}}}}}
	requests := func(cpu, memory string) A {
		return A{M{"name": "c", "resources": M{"requests": M{"cpu": cpu, "memory": memory}}}}
	}
	s := &state{}
	for i := 0; i < nodes; i++ {
		name, zone, cpu, last := fmt.Sprintf("n-%d", i), fmt.Sprintf("z-%d", i%3), "16", i+1 == nodes
		if last {
			zone, cpu = "z-last", "32"
		}
		n, err := decodeNode(must(M{"metadata": M{"name": name, "labels": M{hostKey: name, zoneKey: zone}}, "status": M{"allocatable": M{"cpu": cpu, "memory": "64Gi", "pods": "110"}}}))
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
		for j := 0; j < 10; j++ {
			k := i*10 + j
			app, spec := apps[k%3], M{"nodeName": name, "containers": requests("100m", "128Mi")}
			if last {
				app = "db"
			} else if j == 0 {
				app, spec["affinity"] = "lonely", lonely
			}
			p, err := decodePod(must(pod("default", fmt.Sprintf("p-%d", k), M{"app": app}, spec)))
			if err != nil {
				return err
			}
			s.pods = append(s.pods, p)
		}
	}
	asks := []M{
		pod("default", "plain", M{"app": "web"}, M{"containers": requests("20", "256Mi")}),
		pod("default", "spread", M{"app": "web"}, M{"containers": requests("500m", "256Mi"), "topologySpreadConstraints": A{M{"maxSkew": 1, "topologyKey": zoneKey, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": M{"matchLabels": M{"app": "web"}}}}}),
		pod("default", "anti", M{"app": "lonely"}, M{"containers": requests("500m", "256Mi"), "affinity": lonely}),
	}
	e, err := newEngine(nil, "")
	if err != nil {
		return err
	}
	defer e.close()
	t0 := time.Now()
	e.load(s)
	fmt.Printf("%d nodes x 10 pods, only the last fits, GOMAXPROCS %d, parallelism %d; snapshot build %.1f ms\n", nodes, runtime.GOMAXPROCS(0), parallelism, float64(time.Since(t0).Microseconds())/1000)
	for _, m := range asks {
		p, err := decodePod(must(m))
		if err != nil {
			return err
		}
		if err := e.timePod(p, nodes, count); err != nil {
			return err
		}
	}
	return nil
}
