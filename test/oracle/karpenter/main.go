// Command karpenter-oracle runs the real provisioning and disruption code of sigs.k8s.io/karpenter on generated cases and
// records its answers as gzip-compressed JSON lines.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
)

func main() {
	seed := flag.Int64("seed", 1, "seed of the generator")
	n := flag.Int("n", 0, "approximate number of cases (0 = default of the area)")
	out := flag.String("out", "out", "output folder")
	only := flag.String("family", "", "only this family (solve, consolidation)")
	flag.Parse()
	log.SetLogger(logging.NopLogger)
	if f := os.Getenv("ORACLE_CPUPROFILE"); f != "" {
		w, err := os.Create(f)
		must(err)
		must(pprof.StartCPUProfile(w))
		defer pprof.StopCPUProfile()
	}
	def := func(d int) int {
		if *n > 0 {
			return *n
		}
		return d
	}
	switch flag.Arg(0) {
	case "requirements":
		genReqs(*out+"/requirements.jsonl.gz", *seed, def(3200), false)
	case "instance_types":
		genITypes(*out+"/instance_types.jsonl.gz", *seed, def(900), false)
	case "solve":
		genSolve(*out, *seed, def(100), false, *only)
	case "consolidation":
		genConsolidation(*out, *seed, def(100), false, *only)
	case "budgets":
		genBudgets(*out+"/budgets.jsonl.gz", *seed, def(600), false)
	case "drift":
		genDrift(*out+"/drift.jsonl.gz", *seed, def(260), false)
	case "bench":
		bench(flag.Args()[1:])
	case "verify":
		verify(flag.Args()[1:], def(1))
	default:
		fmt.Fprintln(os.Stderr, "usage: oracle [-seed N] [-n N] [-out DIR] requirements|instance_types|solve|consolidation|budgets|drift|verify FILE...|bench diverse|wishes COUNT...")
		os.Exit(2)
	}
}
