import Fulfillment
import Logging
import Operations

/// Parked submissions whose takes ended without a word, as those do that kill the process, are taken up one at a time.
///
/// The count of takes stands in the row before anyone looks into it, as a record's name stands in Kafka before it is taken
/// alone. Whoever died beside one is cleared by its next try, for that ends.
extension Revisit {
    /// False while the database is out of reach.
    func hasSuspect() async -> Bool {
        // An outage is no time to accuse anyone: tries last long and are cut off.
        guard !desk.apple.isDown else { return false }
        do { return try await desk.store.hasSuspect() } catch {
            failures.report(error, of: .parked)
            return false
        }
    }

    /// Returns when the suspect's try is over, or has lasted so long that others may be taken up beside it. To be called
    /// while no other parked submission is under way.
    func leaseSuspect(_ group: inout DiscardingTaskGroup) async {
        guard desk.load.beginTaking() else { return }
        let taken: SuspectLease
        do { taken = try await desk.store.leaseSuspect() } catch {
            desk.load.endTaking()
            return failures.report(error, of: .parked)
        }
        if case .alone = taken { desk.load.parkedBegan(1) }
        desk.load.endTaking()
        switch taken {
        case .none: return
        case .setAside(let submission): noteSetAside(submission)
        case .alone(let leased):
            let (over, end) = AsyncStream<Never>.makeStream()
            let forgiving = Task {
                await clearSuspicion(of: leased)
                end.finish()
            }
            group.addTask {
                await self.work(on: ParkedWork(leased: leased, answer: AnswerOfProof()))
                forgiving.cancel()
                end.finish()
            }
            for await _ in over {}
        }
    }

    /// What waits that long for Apple or the database has done no harm: a death in that time is an operator's.
    private func clearSuspicion(of leased: LeasedSubmission) async {
        let deadline = WallClock.monotonicSeconds + PipelineLimits.forgivingSeconds
        var seconds = PipelineLimits.aloneSeconds
        while WallClock.monotonicSeconds < deadline {
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
            if (try? await desk.store.clearSuspicion(of: leased)) != nil { return }
            seconds = PipelineLimits.namingRetrySeconds
        }
    }

    /// Its sender is not told: who has paid shall not be told no for a fault of ours.
    private func noteSetAside(_ submission: SetAsideSubmission) {
        worker.metrics.all.parkings.with(ParkingReason.crashed.rawValue).increment()
        logger.error(
            "a parked submission kills the process: it is set aside",
            [
                .submissionID: "\(submission.submissionID)", .bundleID: "\(submission.bundleID)",
                .count: .stringConvertible(submission.deaths),
            ])
    }
}
