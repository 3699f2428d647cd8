#!/usr/bin/env bash
# Prints the rules of deploy/alerts.yaml as a PrometheusRule, for the Prometheus operator:
#   deploy/kubernetes/prometheusrule.sh | kubectl apply --namespace receiptd -f -
set -euo pipefail
cd "$(dirname "$0")/.."

cat <<'EOF'
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: receiptd
  labels: { app.kubernetes.io/name: receiptd }
spec:
EOF
sed 's/^/  /' alerts.yaml
