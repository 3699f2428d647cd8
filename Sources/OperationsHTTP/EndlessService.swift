import Operations
import ServiceLifecycle

/// A service that has to run until the process shuts down. An earlier end is an error.
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
            // `OperationsServerError` names the port, so it says more than `PartEnded`.
            if let refused = error.underlying as? OperationsServerError { throw refused }
            throw error
        }
    }
}

/// Logs the notices of `Failures`.
package struct FailureReports: Service {
    let failures: Failures

    package init(failures: Failures) { self.failures = failures }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await failures.run() }
    }
}
