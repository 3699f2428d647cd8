import NIOCore

struct OutageSwitch: Sendable {
    let service: VerifyReceiptService
    let listener: SimulationListener
    let group: any EventLoopGroup

    /// Begins or ends an outage.
    /// - Parameters:
    ///   - outage: the outage; nil ends the present outage.
    ///   - durationMilliseconds: the length of the outage, at most a day; nil for no end. If another call begins or
    ///     ends an outage meanwhile, nothing happens at the end of this time.
    /// - Returns: a future that succeeds once the listener is closed (`.refuse`) or open.
    @discardableResult
    func set(
        _ outage: SimulatedOutage?, endpoint: SimulatedEnvironment?, durationMilliseconds: Int64? = nil
    ) -> EventLoopFuture<Void> {
        let generation = service.update { $0.setOutage(outage, endpoint: endpoint) }
        if let durationMilliseconds {
            let duration = TimeAmount.milliseconds(min(max(durationMilliseconds, 0), 86_400_000))
            group.any().scheduleTask(in: duration) {
                guard service.update({ $0.outageGeneration }) == generation else { return }
                set(nil, endpoint: endpoint)
            }
        }
        if outage == .refuse { return listener.closeAndReset() }
        return listener.isOpen ? group.any().makeSucceededVoidFuture() : listener.open()
    }
}
