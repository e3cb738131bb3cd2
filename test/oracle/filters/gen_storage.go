package main

import "fmt"

// genStorage is the rough side of volumes: exclusive disks, in-tree volumes and their migration, annotations of
// old API versions, malformed selectors, claims and volumes in states that controllers leave behind.
func genStorage(g *gen) M {
	b := newBuild(g)
	inTree := []string{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/cinder", "kubernetes.io/azure-disk", "kubernetes.io/portworx-volume", "kubernetes.io/vsphere-volume", "kubernetes.io/azure-file"}
	csi := []string{"ebs.csi.aws.com", "pd.csi.storage.gke.io", "cinder.csi.openstack.org", "disk.csi.azure.com", "pxd.portworx.com", "csi.example.com", "csi.vsphere.vmware.com"}
	classes := []string{}
	sc := func(name, prov string) {
		o := M{"metadata": M{"name": name}, "provisioner": prov}
		if !g.chance(0.04) {
			o["volumeBindingMode"] = g.pick("WaitForFirstConsumer", "WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate")
		}
		if g.chance(0.3) {
			e := A{M{"key": g.pick(zoneKey, "rack"), "values": A{g.pick("z-a", "z-b", "r1")}}}
			switch y := g.Float64(); {
			case y < 0.1:
				e[0].(M)["values"] = A{}
			case y < 0.2:
				e[0].(M)["key"] = "not a key"
			case y < 0.3:
				e = append(e, M{"key": regionKey, "values": A{"eu", "us"}})
			}
			o["allowedTopologies"] = A{M{"matchLabelExpressions": e}}
		}
		b.addObj("storageClasses", o)
		classes = append(classes, name)
	}
	sc("csi", "csi.example.com")
	sc("intree", g.pick(inTree...))
	sc("none", g.pick("kubernetes.io/no-provisioner", ""))
	for _, d := range csi {
		if g.chance(0.5) {
			o := M{"metadata": M{"name": d}, "spec": M{}}
			if g.chance(0.6) {
				o["spec"].(M)["storageCapacity"] = g.chance(0.6)
			}
			if g.chance(0.3) {
				o["spec"].(M)["preventPodSchedulingIfMissing"] = true
			}
			b.addObj("csiDrivers", o)
		}
	}
	for i := 0; i < g.num(0, 3); i++ {
		o := M{"metadata": M{"name": fmt.Sprintf("cap-%d", i), "namespace": "kube-system"}, "storageClassName": g.pick(classes...), "capacity": g.pick("1Gi", "10Gi", "9223372036854775807", "-1", "1500m")}
		switch y := g.Float64(); {
		case y < 0.15:
			o["nodeTopology"] = M{"matchExpressions": A{M{"key": zoneKey, "operator": "In", "values": A{}}}}
		case y < 0.3:
			o["nodeTopology"] = M{"matchExpressions": A{M{"key": zoneKey, "operator": "Exists"}}}
		case y < 0.9:
			o["nodeTopology"] = M{}
		}
		b.addObj("csiStorageCapacities", o)
	}

	source := func(name string) (string, M) {
		switch g.IntN(9) {
		case 0:
			return "awsElasticBlockStore", M{"volumeID": g.pick("vol-1", "aws://z-a/vol-1", "aws:///vol-2", "aws://z-a/bad/x", "vol-2")}
		case 1:
			return "gcePersistentDisk", M{"pdName": g.pick("pd-1", "pd-2")}
		case 2:
			return "cinder", M{"volumeID": g.pick("c-1", "c-2")}
		case 3:
			a := M{"diskName": "d", "diskURI": g.pick("/d/1", "/d/2")}
			if g.chance(0.4) {
				a["kind"] = g.pick("Managed", "Dedicated", "managed")
			}
			return "azureDisk", a
		case 4:
			return "portworxVolume", M{"volumeID": g.pick("p-1", "p-2")}
		case 5:
			return "vsphereVolume", M{"volumePath": "/v"}
		case 6:
			return "hostPath", M{"path": "/x"}
		default:
			return "csi", M{"driver": g.pick(csi...), "volumeHandle": g.pick("vol-1", "c-1", "h-"+name, "h-shared", "")}
		}
	}
	affinity := func() M {
		e := A{M{"key": g.pick(zoneKey, "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.cinder.csi.openstack.org/zone", "rack"), "operator": "In", "values": strs(g.some([]string{"z-a", "z-b", "z-c", "r1"}, g.num(1, 2)))}}
		t := M{"matchExpressions": e}
		switch y := g.Float64(); {
		case y < 0.05:
			e[0].(M)["operator"] = "Gt"
		case y < 0.1:
			e[0].(M)["values"] = A{}
		case y < 0.2:
			t["matchFields"] = A{M{"key": "metadata.name", "operator": "In", "values": A{"n-0"}}}
		case y < 0.3:
			t["matchExpressions"] = append(e, M{"key": "failure-domain.beta.kubernetes.io/region", "operator": "In", "values": A{"eu"}})
		}
		ts := A{t}
		if g.chance(0.15) {
			ts = append(ts, M{})
		}
		a := M{"required": M{"nodeSelectorTerms": ts}}
		if g.chance(0.05) {
			a = M{}
		}
		return a
	}
	volume := func(name, class string) M {
		k, s := source(name)
		spec := M{k: s, "capacity": M{"storage": g.pick(sizes...)}, "accessModes": A{g.pick("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")}}
		if g.chance(0.05) {
			delete(spec, "capacity")
		}
		md := M{"name": name}
		if g.chance(0.9) {
			spec["storageClassName"] = class
		}
		if g.chance(0.1) {
			md["annotations"] = M{"volume.beta.kubernetes.io/storage-class": g.pick(append(classes, "")...)}
		}
		l := M{}
		if g.chance(0.4) {
			l[g.pick(zoneKey, "failure-domain.beta.kubernetes.io/zone")] = g.pick("z-a", "z-b", "z-a__z-b", " z-a ", "", "z-a__", "eu-west1-a__eu-west1-b")
		}
		if g.chance(0.15) {
			l[g.pick(regionKey, "failure-domain.beta.kubernetes.io/region")] = g.pick("eu", "us", "eu__us")
		}
		if g.chance(0.3) {
			l["tier"] = g.pick("fast", "slow")
		}
		if len(l) > 0 {
			md["labels"] = l
		}
		if g.chance(0.4) {
			spec["nodeAffinity"] = affinity()
		}
		if g.chance(0.15) {
			spec["volumeMode"] = g.pick("Block", "Filesystem")
		}
		if g.chance(0.15) {
			spec["volumeAttributesClassName"] = g.pick("gold", "")
		}
		if g.chance(0.08) {
			md["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			md["finalizers"] = A{"kubernetes.io/pv-protection"}
		}
		v := M{"metadata": md, "spec": spec, "status": M{"phase": "Available"}}
		if g.chance(0.1) {
			v["status"] = M{"phase": g.pick("Released", "Bound", "Pending")}
		}
		return v
	}
	nClaims := g.num(3, 7)
	for i := 0; i < nClaims; i++ {
		name := fmt.Sprintf("claim-%d", i)
		class := g.pick(append(classes, "")...)
		c := pvc(g.pick("default", "default", "default", "other"), name, class, M{"resources": M{"requests": M{"storage": g.pick(sizes...)}}})
		spec, md := c["spec"].(M), c["metadata"].(M)
		if g.chance(0.08) {
			delete(spec, "resources")
		}
		if g.chance(0.1) {
			spec["accessModes"] = A{g.pick("ReadWriteOncePod", "ReadWriteMany")}
		}
		if g.chance(0.15) {
			spec["volumeMode"] = g.pick("Block", "Filesystem")
		}
		if g.chance(0.15) {
			spec["volumeAttributesClassName"] = g.pick("gold", "")
		}
		if g.chance(0.2) {
			spec["selector"] = M{"matchLabels": M{"tier": "fast"}}
			if g.chance(0.2) {
				spec["selector"] = M{"matchExpressions": A{M{"key": "tier", "operator": "In"}}}
			}
		}
		if g.chance(0.5) {
			v := volume("pv-"+name, class)
			bind(c, v)
			if g.chance(0.1) {
				delete(md, "annotations")
			}
			if g.chance(0.93) {
				b.addObj("pvs", v)
			}
		} else if g.chance(0.1) {
			md["annotations"] = M{"volume.kubernetes.io/selected-node": fmt.Sprintf("n-%d", g.num(0, 2))}
		}
		if g.chance(0.1) {
			a, ok := md["annotations"].(M)
			if !ok {
				a = M{}
				md["annotations"] = a
			}
			a["volume.beta.kubernetes.io/storage-class"] = g.pick(append(classes, "", "absent")...)
		}
		if g.chance(0.03) {
			c["status"] = M{"phase": "Lost"}
		}
		b.addObj("pvcs", c)
	}
	for i := 0; i < g.num(0, 4); i++ {
		v := volume(fmt.Sprintf("spare-%d", i), g.pick(classes...))
		if g.chance(0.25) {
			v["spec"].(M)["claimRef"] = M{"kind": "PersistentVolumeClaim", "namespace": g.pick("default", "default", "other"), "name": g.pick("claim-0", "claim-1", "claim-2", "stranger"), "uid": g.pick("uid-pvc-claim-0", "uid-pvc-claim-1", "uid-x", "", "")}
		}
		b.addObj("pvs", v)
	}
	for i := 0; i < 5; i++ {
		if g.chance(0.25) {
			continue
		}
		ds := A{}
		for _, d := range g.some(csi, g.num(0, 5)) {
			e := M{"name": d, "nodeID": "id", "topologyKeys": nil}
			if g.chance(0.8) {
				e["allocatable"] = M{"count": g.pickInt(0, 1, 1, 2, 3)}
			}
			ds = append(ds, e)
		}
		md := M{"name": fmt.Sprintf("n-%d", i)}
		if g.chance(0.7) {
			m := ""
			for _, p := range g.some(inTree, g.num(0, 7)) {
				m += "," + p
			}
			if m != "" {
				m = m[1:]
			}
			md["annotations"] = M{"storage.alpha.kubernetes.io/migrated-plugins": m}
		}
		b.addObj("csiNodes", M{"metadata": md, "spec": M{"drivers": ds}})
	}
	for i := 0; i < g.num(0, 3); i++ {
		s := M{}
		if g.chance(0.9) {
			s["persistentVolumeName"] = g.pick("pv-claim-0", "pv-claim-1", "spare-0", "gone")
		}
		b.addObj("volumeAttachments", M{"metadata": M{"name": fmt.Sprintf("va-%d", i)}, "spec": M{"attacher": g.pick(append(csi, "")...), "nodeName": fmt.Sprintf("n-%d", g.num(0, 2)), "source": s}, "status": M{"attached": true}})
	}
	b.mkNode = func(name string) M {
		l := M{}
		for _, k := range []string{zoneKey, "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.cinder.csi.openstack.org/zone"} {
			if g.chance(0.5) {
				l[k] = g.pick("z-a", "z-b")
			}
		}
		if g.chance(0.4) {
			l["rack"] = "r1"
		}
		if g.chance(0.4) {
			l[g.pick(regionKey, "failure-domain.beta.kubernetes.io/region")] = g.pick("eu", "us")
		}
		return g.node(name, l, nil)
	}
	disk := func(v M) {
		switch g.IntN(7) {
		case 0:
			v["gcePersistentDisk"] = M{"pdName": g.pick("pd-1", "pd-2"), "readOnly": g.chance(0.5)}
		case 1:
			v["awsElasticBlockStore"] = M{"volumeID": g.pick("vol-1", "vol-2", "aws://z-a/vol-1", "aws://bad"), "readOnly": g.chance(0.5)}
		case 2:
			v["iscsi"] = M{"targetPortal": g.pick("a", "b"), "iqn": g.pick("iqn-1", "iqn-2"), "lun": g.num(0, 1), "readOnly": g.chance(0.5)}
		case 3:
			v["rbd"] = M{"monitors": strs(g.some([]string{"m1", "m2", "m3"}, g.num(1, 2))), "image": g.pick("i1", "i2"), "pool": g.pick("", "p"), "readOnly": g.chance(0.5)}
		case 4:
			v["csi"] = M{"driver": "inline.example.com"}
		case 5:
			v["cinder"] = M{"volumeID": g.pick("c-1", "c-2")}
		default:
			v["azureDisk"] = M{"diskName": "d", "diskURI": g.pick("/d/1", "/d/2")}
		}
	}
	mk := func(name string, withBadOwner bool) M {
		var vs A
		p := pod(g.pick("default", "default", "default", "other"), name, nil, nil)
		for i := 0; i < g.num(0, 3); i++ {
			v := M{"name": fmt.Sprintf("v%d", i)}
			switch y := g.Float64(); {
			case y < 0.55:
				v["persistentVolumeClaim"] = M{"claimName": fmt.Sprintf("claim-%d", g.num(0, nClaims-1))}
			case y < 0.57:
				v["persistentVolumeClaim"] = M{"claimName": g.pick("", "absent")}
			case y < 0.63 && withBadOwner:
				v["ephemeral"] = M{}
				p["metadata"].(M)["uid"] = "uid-" + name
				c := pvc(p["metadata"].(M)["namespace"].(string), name+"-"+v["name"].(string), g.pick(classes...), nil)
				c["metadata"].(M)["ownerReferences"] = A{M{"apiVersion": "v1", "kind": g.pick("Pod", "Pod", "Job"), "name": name, "uid": g.pick("uid-"+name, "uid-"+name, "uid-other"), "controller": g.chance(0.9)}}
				b.addObj("pvcs", c)
			default:
				disk(v)
			}
			vs = append(vs, v)
		}
		if vs != nil {
			p["spec"].(M)["volumes"] = vs
		}
		return p
	}
	b.mkPod = func(name string) M { return mk(name, g.chance(0.3)) }
	b.mkAsk = func(name string) M { return mk(name, true) }
	b.start(g.num(2, 4), g.num(0, 4))
	b.run(g.length(12))
	return b.out()
}

// genFeatures is about NodeDeclaredFeatures: what a pod needs from the kubelet, and what nodes declare.
func genFeatures(g *gen) M {
	b := newBuild(g)
	known := []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "InPlacePodLevelResourcesVerticalScaling", "ExtendWebSocketsToKubelet", "NoSuchFeature"}
	b.mkNode = func(name string) M {
		n := g.node(name, nil, nil)
		if g.chance(0.8) {
			n["status"].(M)["declaredFeatures"] = strs(g.some(known, g.num(0, 4)))
		}
		return n
	}
	rules := func(c M) {
		if g.chance(0.4) {
			c["restartPolicyRules"] = A{M{"action": g.pick("Restart", "RestartAllContainers"), "exitCodes": M{"operator": "In", "values": A{1}}}}
		}
	}
	b.mkAsk = func(name string) M {
		c, i := M{"name": "c"}, M{"name": "i"}
		rules(c)
		s := M{"containers": A{c}}
		if g.chance(0.4) {
			rules(i)
			s["initContainers"] = A{i}
		}
		if g.chance(0.6) {
			s["hostNetwork"] = g.chance(0.7)
		}
		if g.chance(0.6) {
			s["hostUsers"] = g.chance(0.3)
		}
		return pod("default", name, nil, s)
	}
	b.start(g.num(1, 4), g.num(0, 2))
	b.run(g.length(8))
	return b.out()
}
