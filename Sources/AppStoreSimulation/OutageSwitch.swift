import NIOCore

/// Turns outages on and off, the listener included.
struct OutageSwitch: Sendable {
    let service: VerifyReceiptService
    let listener: SimulationListener
    let group: any EventLoopGroup

    /// Sets or ends an outage.
    /// - Parameters:
    ///   - outage: the outage; nil ends it.
    ///   - durationMilliseconds: the time after which it ends by itself, unless it is set anew meanwhile; nil for no
    ///     end.
    /// - Returns: a future that succeeds once the listener is closed or open, as it should be.
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
