//go:build tools

// Package engine pins the Pulumi engine that the lab builds when none can be downloaded.
package engine

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
