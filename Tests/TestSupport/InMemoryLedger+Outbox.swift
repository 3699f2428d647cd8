import Fulfillment

struct OutboxRow {
    let event: OutcomeEvent
    let traceparent: String?
    let partition: InMemoryLedger.Partition
    var createdAt = ContinuousClock.now
    var leasedUntil: ContinuousClock.Instant?
    var isHandedOver = false

    init(_ event: OutcomeEvent, traceparent: String?, of partition: InMemoryLedger.Partition) {
        self.event = event
        self.traceparent = traceparent
        self.partition = partition
    }

    var unpublished: UnpublishedEvent { UnpublishedEvent(event: event, traceparent: traceparent) }
}

extension InMemoryLedger.State {
    fileprivate mutating func lease(_ rows: ArraySlice<Int>, now: ContinuousClock.Instant) -> [UnpublishedEvent] {
        for index in rows {
            outbox[index].leasedUntil = now + .seconds(30)
            outbox[index].isHandedOver = false
        }
        return rows.map { outbox[$0].unpublished }
    }
}

extension InMemoryLedger: UnpublishedEvents {
    public func orphans(limit: Int) async throws -> [UnpublishedEvent] {
        let now = ContinuousClock.now
        return state.update { state in
            let taken = state.outbox.indices.filter { index in
                let row = state.outbox[index]
                return now - row.createdAt > .seconds(10) && row.leasedUntil.map { $0 <= now } ?? true
            }.prefix(limit)
            return state.lease(taken, now: now)
        }
    }

    public func handedOver(limit: Int) async throws -> [UnpublishedEvent] {
        state.update { state in
            state.lease(state.outbox.indices.filter { state.outbox[$0].isHandedOver }.prefix(limit), now: .now)
        }
    }

    /// Lets any worker publish the events, as operators' commands do.
    public func handOver(_ events: [NameBasedUUID]) {
        state.update { state in
            for index in state.outbox.indices
            where events.contains(state.outbox[index].event.eventID) && state.outbox[index].leasedUntil == nil {
                state.outbox[index].isHandedOver = true
            }
        }
    }

    public func unpublished(topic: String, partition: Int32, limit: Int) async throws -> [UnpublishedEvent] {
        let partition = Partition(topic: topic, number: partition)
        return state.read { state in
            state.outbox.filter { $0.partition == partition }.prefix(limit).map(\.unpublished)
        }
    }

    public func highestDecidedOffset(topic: String, partition: Int32) async throws -> Int64? {
        state.read { $0.offsets[Partition(topic: topic, number: partition)] }
    }

    /// Adds events that another replica has decided and not published.
    public func owe(
        _ events: [OutcomeEvent], topic: String, partition: Int32, highestOffset: Int64, ageSeconds: Double = 0
    ) {
        let partition = Partition(topic: topic, number: partition)
        state.update { state in
            for event in events {
                var row = OutboxRow(event, traceparent: nil, of: partition)
                row.createdAt -= .seconds(ageSeconds)
                state.outbox.append(row)
            }
            state.offsets[partition] = max(highestOffset, state.offsets[partition] ?? -1)
        }
    }

    /// Makes the outbox a minute older, so that any worker may publish its events.
    public func ageOutbox() {
        state.update { state in
            for index in state.outbox.indices { state.outbox[index].createdAt -= .seconds(60) }
        }
    }
}
