import Operations
import ServiceLifecycle

/// A service that is to run until the process shuts down: its end before that is an error.
package struct EndlessService<Body: Service>: Service {
    let part: EndlessPart
    let service: Body

    package init(part: EndlessPart, service: Body) {
        self.part = part
        self.service = service
    }

    package func run() async throws {
        let isStopping: @Sendable () -> Bool = { Task.isShuttingDownGracefully || Task.isCancelled }
        do {
            try await part.run(isStopping: isStopping) { try await service.run() }
        } catch {
            // A refused start says more by itself than that the service ended.
            if let refused = error.underlying as? OperationsServerError { throw refused }
            throw error
        }
    }
}

/// Says each minute what still fails.
package struct FailureReports: Service {
    let failures: Failures

    package init(failures: Failures) { self.failures = failures }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await failures.run() }
    }
}
