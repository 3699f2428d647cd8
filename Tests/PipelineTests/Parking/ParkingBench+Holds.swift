import Fulfillment
import NamesAndTimes
import TestSupport

extension ParkingBench {
    /// A store of holds that settles as the ledger would on empty tables, and records its calls.
    final class Holds: HeldPurchases {
        typealias Suspect = SuspectLease<LeasedHold, SetAsidePurchase>

        struct Content {
            var due: [LeasedHold] = []
            var kept: [Reason] = []
            var putBack: [Double] = []
            var released = 0
            var settled: [HoldDecision.Settled] = []
            /// The results of the next searches for suspects, in order.
            var suspects: [Suspect] = []
            var forgiven: [StoreTransactionID] = []
            /// The number of calls of `keepHeld` that will fail.
            var failingKeeps = 0
            /// Whether the database refuses each end of a hold.
            var refusesEnds = false
        }

        private struct Away: Error {}

        private let state: Shared<Content>

        init(changes: ChangeSignal) { state = Shared(Content(), changes) }

        var content: Content { state.value }
        func add(_ holds: LeasedHold...) { state.update { $0.due += holds } }

        func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold] {
            state.update { state in
                defer { state.due = [] }
                return state.due
            }
        }

        func refuseEnds() { state.update { $0.refusesEnds = true } }

        func failNextKeeps(_ count: Int) { state.update { $0.failingKeeps = count } }

        func addSuspects(_ suspects: Suspect...) { state.update { $0.suspects += suspects } }

        func hasSuspect(catalogVersion: Int64) async throws -> Bool { state.read { !$0.suspects.isEmpty } }

        func leaseSuspect(catalogVersion: Int64) async throws -> Suspect {
            state.update { $0.suspects.isEmpty ? .none : $0.suspects.removeFirst() }
        }

        func clearSuspicion(of hold: LeasedHold) async throws {
            state.update { $0.forgiven.append(hold.transactionID) }
        }

        func accuse(_ hold: LeasedHold) async throws {
            state.update { $0.forgiven.removeAll { $0 == hold.transactionID } }
        }

        func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws {
            try state.update { state in
                guard state.failingKeeps == 0 else {
                    state.failingKeeps -= 1
                    throw Away()
                }
                state.kept += holds.map(\.reason)
            }
        }

        func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws {
            state.update { $0.putBack.append(dueAfterSeconds) }
        }

        func endLease(of hold: LeasedHold) async throws { state.update { $0.released += 1 } }

        func settle(_ decision: HoldDecision) async throws -> OutcomeEvent? {
            if content.refusesEnds { throw Away() }
            var view = LedgerView()
            let settled = decision.settle(in: &view)
            state.update { $0.settled.append(settled) }
            switch settled {
            case .granted(let grant): return grant.event
            case .rejected(let event): return event
            case .held, .notTold: return nil
            }
        }
    }
}
