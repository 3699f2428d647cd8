import Fulfillment

struct FinishEntry {
    let bundleID: BundleID
    let environment: StoreEnvironment
    let eventID: NameBasedUUID
    var isDue = true
    var isPastItsTime = false
    var tries = 0
    /// The delays that the worker set, in seconds.
    var delays: [Double] = []
    var lease: Int64?
    var result: FinishResult?
}

extension InMemoryLedger: OwedFinishes {
    public func leaseDueFinishes(limit: Int) async throws -> [LeasedFinish] {
        state.update { $0.leaseFinishes(limit: limit) }
    }

    public func end(_ finish: LeasedFinish, as result: FinishResult) async throws {
        state.update { state in
            state.change(finish) { entry in
                entry.lease = nil
                entry.result = result
            }
        }
    }

    /// Postpones the finish until the test ends all leases.
    public func putOff(_ finish: LeasedFinish, seconds: Double) async throws {
        state.update { state in
            let other = state.nextLease()
            state.change(finish) { entry in
                entry.lease = other
                entry.delays.append(seconds)
            }
        }
    }

    public func release(_ finish: LeasedFinish) async throws {
        state.update { state in
            state.change(finish) { entry in
                entry.lease = nil
                entry.tries -= 1
            }
        }
    }

    /// Ends all leases, as if all workers had died long ago.
    public func endFinishLeases() {
        state.update { state in for id in state.finishes.keys { state.finishes[id]?.lease = nil } }
    }

    /// Makes the rows a week older.
    public func ageFinishes() {
        state.update { state in for id in state.finishes.keys { state.finishes[id]?.isPastItsTime = true } }
    }

    /// The delays that the worker set, in seconds.
    public var finishDelays: [Double] { state.read { $0.finishes.values.flatMap(\.delays) } }

    /// The result of each finish; nil if the finish has no result yet.
    public var finishResults: [StoreTransactionID: FinishResult?] { state.read { $0.finishes.mapValues(\.result) } }
}

extension InMemoryLedger.State {
    mutating func enter(_ finish: Settlement.Finish, of decision: PendingDecision) {
        guard finishes[finish.transactionID] == nil else { return }
        finishes[finish.transactionID] = FinishEntry(
            bundleID: decision.submission.bundleID, environment: decision.environment, eventID: finish.eventID)
    }

    fileprivate mutating func leaseFinishes(limit: Int) -> [LeasedFinish] {
        let owed = Set(outbox.map(\.event.eventID))
        let due = finishes.filter {
            $0.value.result == nil && $0.value.lease == nil && !owed.contains($0.value.eventID)
        }
        return due.keys.sorted().prefix(limit).compactMap { id in
            let lease = nextLease()
            finishes[id]?.lease = lease
            finishes[id]?.tries += 1
            return finishes[id].map { entry in
                LeasedFinish(
                    transactionID: id, bundleID: entry.bundleID, environment: entry.environment,
                    isPastItsTime: entry.isPastItsTime, tries: entry.tries, lease: lease)
            }
        }
    }

    /// Changes the entry if the worker still has the lease.
    fileprivate mutating func change(_ finish: LeasedFinish, _ body: (inout FinishEntry) -> Void) {
        guard var entry = finishes[finish.transactionID], entry.lease == finish.lease else { return }
        body(&entry)
        finishes[finish.transactionID] = entry
    }
}
