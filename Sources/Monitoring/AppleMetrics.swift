import AppStore
import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Counts and times requests to Apple.
package struct AppleMetrics: AppleObserver {
    let metrics: ReceiptdMetrics
    let logger: Logger
    let failures: Failures
    let latency: AppleLatency
    let reach: AppleReachWatch?

    package init(
        metrics: ReceiptdMetrics, logger: Logger, failures: Failures, latency: AppleLatency,
        reach: AppleReachWatch? = nil
    ) {
        self.metrics = metrics
        self.logger = logger
        self.failures = failures
        self.latency = latency
        self.reach = reach
    }

    package func reached(_ url: String, noAnswer: String?) { reach?.note(url, noAnswer: noAnswer) }

    package func requestEnded(endpoint: String, environment: StoreEnvironment, result: String, seconds: Double) {
        metrics.appleRequests.with(endpoint, environment.rawValue, result).increment()
        metrics.appleRequestDuration.observe(seconds)
        latency.observe(seconds)
    }
}

/// Reports how the worker limits its requests to Apple.
extension AppleMetrics: AppleLimitsObserver {
    package func circuit(bundleID: BundleID, endpoint: String, isOpen: Bool) {
        let gauge = metrics.appleCircuitOpen.with(bundleID.text, endpoint)
        // These calls create the app's time series in Prometheus when the worker first uses the app.
        if !isOpen {
            _ = metrics.misconfigured.with(bundleID.text)
            _ = metrics.credentialsDoubted.with(bundleID.text)
        }
        if isOpen == (gauge.value != 0) { return }
        gauge.set(isOpen)
        // The circuit breakers of many apps open together, so this line is only information.
        // `apple(isDown:afterSeconds:)` logs the warning.
        logger.info(
            isOpen
                ? "the worker holds back requests to Apple after failures" : "the worker sends requests to Apple again",
            [.bundleID: "\(bundleID)", .endpoint: "\(endpoint)"])
    }

    package func credentials(bundleID: BundleID, endpoint: String, fault: CredentialsFault?) {
        metrics.misconfiguration.set(bundleID.text, "credentials \(endpoint)", because: fault?.sentence)
        var fields: Logger.Fields = [.bundleID: "\(bundleID)", .endpoint: "\(endpoint)"]
        if let fault {
            fields[.detail] = "\(fault.sentence)"
            logger.error(
                "Apple refuses this app's credentials, or they are missing: its submissions wait", fields)
        } else {
            logger.notice("Apple accepts this app's credentials again", fields)
        }
    }

    package func credentials(bundleID: BundleID, areDoubted: Bool) {
        metrics.credentialsDoubted.with(bundleID.text).set(areDoubted)
        if areDoubted {
            logger.warning(
                "Apple refuses all unproven receipts of an app: they are another app's, or the shared secret is wrong",
                [.bundleID: "\(bundleID)"])
        } else {
            logger.notice("Apple accepts a receipt with the app's shared secret again", [.bundleID: "\(bundleID)"])
        }
    }

    package func held(_ scope: AppleScope, seconds: Double) {
        logger.warning(
            "Apple asks to wait (Retry-After): every replica holds its requests back",
            [
                .bundleID: "\(scope.bundleID)", .endpoint: "\(scope.endpoint)",
                .environment: "\(scope.environment.rawValue)", .delaySeconds: .stringConvertible(seconds),
            ])
    }

    package func concurrency(limit: Int) { metrics.appleConcurrencyLimit.set(limit) }

    package func apple(isDown: Bool, afterSeconds seconds: Double) {
        metrics.appleDown.set(isDown)
        if isDown {
            logger.warning("Apple is down for every app: submissions wait, and Kafka keeps the backlog", [:])
        } else {
            logger.notice("Apple is back", [.durationSeconds: .stringConvertible(seconds)])
        }
    }

    package func waited(seconds: Double) { metrics.appleWait.observe(seconds) }

    package func budgetFailed(_ error: any Error) { failures.failed(.appleBudget, error) }

    package func budgetAnswered() { failures.recovered(.appleBudget) }
}
