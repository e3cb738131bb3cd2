package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Families beside those of the recorded cases: reserved capacity, odd types, ignored preferences, static pools, leaving
// nodes, what an eviction costs, grace periods.

var moreSolveFamilies = []fam{
	{"reservations", 60, 8, famReservations}, {"odd-types", 40, 0, famOddTypes}, {"ignore-wishes", 50, 8, famIgnoreWishes},
	{"static-pools", 40, 0, famStaticPools}, {"leaving", 50, 8, famLeaving}, {"fresh-nodes", 50, 8, famFreshNodes},
}

var moreConsFamilies = []consFam{
	{"reserved-nodes", 40, consReserved}, {"eviction-costs", 40, consEvictionCosts}, {"static-drift", 40, consStatic}, {"grace", 30, consGrace}, {"ignored-wishes", 30, consWishes},
}

func reservationOf(i int) string { return fmt.Sprintf("res-%d", i) }

func (s *scene) reservedPools() {
	for i, n := range []string{"default", "other"}[:1+s.r.Intn(2)] {
		np := s.anyPool(n)
		switch s.r.Intn(6) {
		case 0:
			np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, nreq(ctKey, "In", "reserved"))
		case 1:
			np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, nreq(ctKey, "In", "reserved", pick(s.r, "spot", "on-demand")))
		case 2:
			np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, nreq(labelReservation, pick(s.r, "In", "NotIn"), reservationOf(s.r.Intn(4))))
		case 3:
			np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, nreq(ctKey, "NotIn", pick(s.r, "spot", "reserved")))
		case 4:
			np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, nreqMin(1+s.r.Intn(3), ctKey, "Exists"))
		}
		if chance(s.r, 40) {
			np.Spec.Weight = ptr(int32(10 * (i + 1)))
		}
		if chance(s.r, 20) {
			np.Spec.Limits = v1.Limits{"cpu": q(pick(s.r, "4", "10"))}
		}
	}
}

func (s *scene) reservedNode(cats map[string][]IType, name, pool string, age time.Duration) string {
	i := 1 + s.r.Intn(2)
	o := nodeOpt{name: name, pool: pool, itype: cats["reserved3"][i], zone: zones[i%2], ct: "reserved", age: age}
	if chance(s.r, 85) {
		o.labels = map[string]string{labelReservation: reservationOf(i)}
	}
	s.node(o)
	return name
}

func famReservations(s *scene, c *solveCase, cats map[string][]IType) {
	c.Catalog = "reserved3"
	s.reservedPools()
	if chance(s.r, 25) {
		c.Options.MinValuesPolicy = "BestEffort"
	}
	if chance(s.r, 40) {
		for i := 0; i < 1+s.r.Intn(2); i++ {
			n := s.reservedNode(cats, fmt.Sprintf("had-%d", i), "default", time.Hour)
			if chance(s.r, 60) {
				s.bound(n, pod(s.smallSize(), map[string]string{"app": "web"}))
			}
			if chance(s.r, 25) {
				s.o.MarkedForDeletion = append(s.o.MarkedForDeletion, "oracle://"+n)
			}
		}
	}
	for i := 0; i < 1+s.r.Intn(3); i++ {
		p := pod(cpuMem(pick(s.r, "500m", "1500m", "3", "6"), pick(s.r, "256Mi", "1Gi", "5Gi")), map[string]string{"app": "web"})
		switch s.r.Intn(8) {
		case 0:
			p.Spec.NodeSelector = map[string]string{ctKey: pick(s.r, "reserved", "spot", "on-demand")}
		case 1:
			p.Spec.NodeSelector = map[string]string{labelReservation: reservationOf(s.r.Intn(4))}
		case 2:
			prefer(p, 10, s.randExpr(ctKey, zoneKey))
		case 3:
			spread(p, pick(s.r, ctKey, zoneKey, hostKey), 1, chance(s.r, 70), sel("app", "web"))
		case 4:
			affinity(p, true, pick(s.r, 0, 20), pick(s.r, hostKey, zoneKey), sel("app", "web"))
		case 5:
			require(p, []corev1.NodeSelectorRequirement{expr(labelReservation, pick(s.r, "Exists", "DoesNotExist"))})
		}
		s.pending(1+s.r.Intn(4), p)
	}
}

func famOddTypes(s *scene, c *solveCase, _ map[string][]IType) {
	c.Catalog = "odd4"
	s.anyPool("default")
	if chance(s.r, 30) {
		s.daemon("dm", cpuMem("150m", "200Mi"), nil)
	}
	for i := 0; i < 1+s.r.Intn(3); i++ {
		p := pod(s.size(), map[string]string{"app": "web"})
		switch s.r.Intn(6) {
		case 0:
			p.Spec.Containers[0].Resources.Requests["hugepages-2Mi"] = q(pick(s.r, "1Gi", "3Gi", "6Gi"))
		case 1:
			p.Spec.Containers[0].Resources.Requests["example.com/nic"] = q(pick(s.r, "1", "2", "3"))
		case 2:
			p.Spec.Containers[0].Resources.Requests["memory"] = q(pick(s.r, "7Gi", "9Gi", "11Gi", "13Gi"))
		case 3:
			p.Spec.NodeSelector = map[string]string{pick(s.r, zoneKey, ctKey): ""}
			for k := range p.Spec.NodeSelector {
				p.Spec.NodeSelector[k] = map[string]string{zoneKey: pick(s.r, zones...), ctKey: pick(s.r, "spot", "on-demand")}[k]
			}
		}
		if chance(s.r, 20) {
			spread(p, pick(s.r, zoneKey, ctKey), 1, true, sel("app", "web"))
		}
		s.pending(1+s.r.Intn(4), p)
	}
}

func famIgnoreWishes(s *scene, c *solveCase, cats map[string][]IType) {
	if chance(s.r, 50) {
		famPreferences(s, c, cats)
	} else {
		famMixed(s, c, cats)
	}
	c.Options.PreferencePolicy = "Ignore"
}

func famStaticPools(s *scene, c *solveCase, cats map[string][]IType) {
	fixed := s.anyPool("fixed")
	fixed.Spec.Replicas = ptr(int64(1 + s.r.Intn(3)))
	np := s.anyPool("default") // with static pools alone the peer does not even look
	if chance(s.r, 40) {
		np.Spec.Limits = v1.Limits{"nodes": q(pick(s.r, "1", "2")), "cpu": q("30")}
	}
	for i := 0; i < s.r.Intn(3); i++ {
		o := nodeOpt{name: fmt.Sprintf("fixed-n%d", i), pool: "fixed", itype: pick(s.r, cats[c.Catalog]...), zone: pick(s.r, zones...), ct: "on-demand", age: time.Hour, state: pick(s.r, "", "", "registered", "launched")}
		s.node(o)
		if o.state != "launched" && chance(s.r, 50) {
			s.bound(o.name, pod(s.smallSize(), map[string]string{"app": "web"}))
		}
	}
	for i := 0; i < 1+s.r.Intn(3); i++ {
		p := pod(s.size(), map[string]string{"app": "web"})
		if chance(s.r, 25) {
			p.Spec.NodeSelector = map[string]string{v1.NodePoolLabelKey: pick(s.r, "fixed", "default")}
		}
		if chance(s.r, 20) {
			spread(p, pick(s.r, zoneKey, hostKey), 1, true, sel("app", "web"))
		}
		s.pending(1+s.r.Intn(5), p)
	}
}

// Pods of nodes that leave, beside pending ones.
func famLeaving(s *scene, c *solveCase, cats map[string][]IType) {
	s.randPools(c)
	if c.Catalog == "fewpods4" {
		c.Catalog = "families12"
	}
	for i, n := range s.someNodes(cats, c.Catalog, []string{"default"}, 2+s.r.Intn(2)) {
		for j := 0; j < s.r.Intn(4); j++ {
			app := pick(s.r, "web", "db")
			p := pod(s.smallSize(), map[string]string{"app": app})
			if chance(s.r, 25) {
				spread(p, pick(s.r, zoneKey, hostKey), 1, chance(s.r, 80), sel("app", app))
			}
			if chance(s.r, 15) {
				affinity(p, true, 0, hostKey, sel("app", app))
			}
			if chance(s.r, 15) {
				p.Spec.NodeSelector = map[string]string{zoneKey: pick(s.r, zones...)}
			}
			b := s.bound(n, p)
			if chance(s.r, 10) {
				b.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
			}
			if chance(s.r, 10) {
				b.DeletionTimestamp = ptr(metav1.NewTime(baseTime.Add(time.Minute)))
				b.Finalizers = []string{"example.com/stay"}
			}
		}
		if i == 0 || chance(s.r, 30) {
			s.o.MarkedForDeletion = append(s.o.MarkedForDeletion, "oracle://"+n)
		}
	}
	if chance(s.r, 60) {
		s.pending(1+s.r.Intn(3), pod(s.size(), map[string]string{"app": "web"}))
	}
}

// Nodes that are on their way: launched or registered only, start-up taints, taints that go by themselves.
func famFreshNodes(s *scene, c *solveCase, cats map[string][]IType) {
	np := s.anyPool("default")
	if chance(s.r, 40) {
		np.Spec.Template.Spec.StartupTaints = []corev1.Taint{taint("starting", "x", corev1.TaintEffectNoSchedule)}
	}
	if chance(s.r, 40) {
		s.daemon("dm", cpuMem("200m", "100Mi"), func(p *corev1.PodSpec) {
			if chance(s.r, 30) {
				p.NodeSelector = map[string]string{zoneKey: pick(s.r, zones...)}
			}
		})
	}
	for i := 0; i < 1+s.r.Intn(3); i++ {
		o := nodeOpt{name: fmt.Sprintf("fresh-%d", i), pool: "default", itype: pick(s.r, cats[c.Catalog]...), zone: pick(s.r, zones...), ct: pick(s.r, "spot", "on-demand"), age: time.Minute,
			state: pick(s.r, "launched", "registered", "registered", "")}
		if o.state != "" && chance(s.r, 50) {
			o.startup = np.Spec.Template.Spec.StartupTaints
		}
		if chance(s.r, 25) {
			o.taints = []corev1.Taint{taint(pick(s.r, "node.kubernetes.io/not-ready", "node.cloudprovider.kubernetes.io/uninitialized", "readiness.k8s.io/net", "other"), "", corev1.TaintEffectNoSchedule)}
		}
		s.node(o)
		if o.state != "launched" && chance(s.r, 40) {
			s.bound(o.name, pod(s.smallSize(), map[string]string{"app": "web"}))
		}
	}
	for i := 0; i < 1+s.r.Intn(3); i++ {
		p := pod(s.size(), map[string]string{"app": "web"})
		if chance(s.r, 30) {
			spread(p, pick(s.r, zoneKey, hostKey, ctKey), 1, true, sel("app", "web"))
		}
		if chance(s.r, 20) {
			p.Spec.NodeSelector = map[string]string{ctKey: pick(s.r, "spot", "on-demand")}
		}
		s.pending(1+s.r.Intn(4), p)
	}
}

func consReserved(s *scene, c *consCase, cats map[string][]IType) {
	c.Catalog = "reserved3"
	c.Options.TerminateFirst = chance(s.r, 50)
	s.reservedPools()
	for i := 0; i < 1+s.r.Intn(3); i++ {
		name := fmt.Sprintf("default-n%d", i)
		if chance(s.r, 65) {
			k := 1 + s.r.Intn(2)
			o := nodeOpt{name: name, pool: "default", itype: cats["reserved3"][k], zone: zones[k%2], ct: "reserved", labels: map[string]string{labelReservation: reservationOf(k)}, age: time.Duration(2+3*i) * time.Hour}
			if chance(s.r, 50) {
				o.cond = append(o.cond, v1.ConditionTypeDrifted)
			}
			s.node(o)
		} else {
			o := nodeOpt{name: name, pool: "default", itype: pick(s.r, cats["reserved3"]...), zone: pick(s.r, zones...), ct: pick(s.r, "on-demand", "spot"), age: time.Duration(2+3*i) * time.Hour}
			if chance(s.r, 30) {
				o.cond = append(o.cond, v1.ConditionTypeDrifted)
			}
			s.node(o)
		}
		if chance(s.r, 80) {
			s.fill(name, 1+s.r.Intn(3), func(p *corev1.Pod) {
				if chance(s.r, 15) {
					p.Spec.NodeSelector = map[string]string{ctKey: pick(s.r, "reserved", "on-demand")}
				}
			})
		}
	}
	s.markDriftedPools()
}

func consEvictionCosts(s *scene, c *consCase, cats map[string][]IType) {
	for _, pn := range []string{"default", "second"}[:1+s.r.Intn(2)] {
		np := s.anyPool(pn)
		if chance(s.r, 30) {
			np.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationPolicyBalanced
		}
		for _, n := range s.clusterNodes(cats, c.Catalog, pn, 1+s.r.Intn(3), nil) {
			s.fill(n, 1+s.r.Intn(4), func(p *corev1.Pod) {
				p.Annotations = map[string]string{}
				if chance(s.r, 40) {
					p.Annotations["controller.kubernetes.io/pod-deletion-cost"] = pick(s.r, "100", "-2147483648", "2147483647", "1e3", "abc", "+5", " 7", "99999999999", "-134217728", "268435456", "")
				}
				if chance(s.r, 40) {
					p.Annotations["karpenter.sh/disruption-cost"] = pick(s.r, "0", "1", "-5", "2.5", "10", "1000", "NaN", "inf", "abc", "-134217728", "134217728", "2147483647", "2147483648", "")
				}
				if chance(s.r, 35) {
					p.Spec.Priority = ptr(int32(pick(s.r, 0, 1000000, 33554432, -33554432, -2000000000, 2000000000)))
				}
			})
		}
	}
}

func consStatic(s *scene, c *consCase, cats map[string][]IType) {
	c.Options.TerminateFirst = chance(s.r, 50)
	for _, pn := range []string{"fixed", "second"}[:1+s.r.Intn(2)] {
		np := s.anyPool(pn)
		if pn == "fixed" || chance(s.r, 50) {
			np.Spec.Replicas = ptr(int64(1 + s.r.Intn(4)))
		}
		if chance(s.r, 40) {
			np.Spec.Limits = v1.Limits{"nodes": q(pick(s.r, "1", "2", "3", "5"))}
		}
		if chance(s.r, 40) {
			np.Spec.Disruption.Budgets = []v1.Budget{{Nodes: pick(s.r, "0", "1", "2", "50%")}}
		}
		np.Spec.Disruption.ConsolidateAfter = v1.MustParseNillableDuration(pick(s.r, "Never", "0s"))
		for _, n := range s.clusterNodes(cats, c.Catalog, pn, 1+s.r.Intn(4), func(i int, o *nodeOpt) {
			if chance(s.r, 60) {
				o.cond = append(o.cond, v1.ConditionTypeDrifted)
			}
			if chance(s.r, 10) {
				o.state = pick(s.r, "registered", "launched")
			}
			if chance(s.r, 10) {
				o.annot = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
			}
		}) {
			if chance(s.r, 60) && s.hasNode(n) {
				s.fill(n, 1+s.r.Intn(2), func(p *corev1.Pod) {
					if chance(s.r, 10) {
						p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: "true"}
					}
				})
			}
		}
	}
	s.markDriftedPools()
}

func (s *scene) hasNode(name string) bool {
	for _, n := range s.o.Nodes {
		if n.Name == name {
			return true
		}
	}
	return false
}

// A termination grace period lets drift go past pods that would block it.
func consGrace(s *scene, c *consCase, cats map[string][]IType) {
	np := s.anyPool("default")
	if chance(s.r, 30) {
		np.Spec.Disruption.Budgets = []v1.Budget{{Nodes: pick(s.r, "1", "2")}}
	}
	for _, n := range s.clusterNodes(cats, c.Catalog, "default", 1+s.r.Intn(3), func(i int, o *nodeOpt) {
		if chance(s.r, 60) {
			o.tgp = &metav1.Duration{Duration: pick(s.r, time.Minute, time.Hour, 0)}
		}
		if chance(s.r, 60) {
			o.cond = append(o.cond, v1.ConditionTypeDrifted)
		}
		if chance(s.r, 10) {
			o.notRdy = true
		}
	}) {
		s.fill(n, 1+s.r.Intn(3), func(p *corev1.Pod) {
			if chance(s.r, 35) {
				p.Annotations = map[string]string{v1.DoNotDisruptAnnotationKey: pick(s.r, "true", "30m", "2h", "-5m", "soon", "false")}
			}
		})
	}
	if chance(s.r, 50) {
		s.pdb("one", pick(s.r, "web", "db"))
	}
	if chance(s.r, 20) {
		s.pdb("two", pick(s.r, "web", "db"))
	}
	s.markDriftedPools()
}

func consWishes(s *scene, c *consCase, cats map[string][]IType) {
	if chance(s.r, 60) {
		c.Options.PreferencePolicy = "Ignore"
	}
	if chance(s.r, 30) {
		c.Options.MinValuesPolicy = "BestEffort"
	}
	np := s.anyPool("default")
	if chance(s.r, 35) {
		np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, nreqMin(1+s.r.Intn(4), pick(s.r, itKey, labelFamily), "Exists"))
	}
	for _, n := range s.clusterNodes(cats, c.Catalog, "default", 1+s.r.Intn(4), nil) {
		s.fill(n, 1+s.r.Intn(3), func(p *corev1.Pod) {
			if chance(s.r, 40) {
				prefer(p, 10, s.randExpr(zoneKey, ctKey, labelFamily))
			}
			if chance(s.r, 30) {
				spread(p, pick(s.r, zoneKey, hostKey), 1, false, sel("app", p.Labels["app"]))
			}
			if chance(s.r, 25) {
				affinity(p, chance(s.r, 60), 20, pick(s.r, zoneKey, hostKey), sel("app", p.Labels["app"]))
			}
		})
	}
}
