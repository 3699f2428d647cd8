import Fulfillment
import NamesAndTimes
import TestSupport

@testable import Pipeline

extension ParkingBench {
    final class Store: ParkedSubmissions {
        struct PutBack: Equatable {
            let offset: Int64
            let reason: ParkingReason
            let detail: String?
            let history: WaitingHistory
        }

        /// Whether a death of the process would count against a suspect.
        struct Accused: Equatable {
            let offset: Int64
            let isAtWork: Bool
        }

        typealias Suspect = SuspectLease<LeasedSubmission, SetAsideSubmission>

        struct Content {
            var parked: [ParkingSubmission] = []
            var due: [LeasedSubmission] = []
            var putBack: [PutBack] = []
            var released: [Int64] = []
            var removed: [Int64] = []
            var woken: [BundleID] = []
            var wokenReasons: [[ParkingReason]] = []
            var limits: [Int] = []
            /// The results of the next searches for suspects, in order.
            var suspects: [Suspect] = []
            /// The accusations that workers wrote, in order.
            var accusations: [Accused] = []
            var refusesEnds = false
            /// Whether each player already has the largest allowed number of parked submissions.
            var isFull = false
        }

        private let state: Shared<Content>
        private let troubled: Shared<[Set<BundleID>?]>

        init(changes: ChangeSignal) {
            state = Shared(Content(), changes)
            troubled = Shared([], changes)
        }

        var content: Content { state.value }
        /// The apps whose submissions the worker woke, for each end of Apple's trouble; nil for all apps.
        var wokenTroubled: [Set<BundleID>?] { troubled.value }
        func add(_ leased: LeasedSubmission...) { state.update { $0.due += leased } }
        func addSuspects(_ suspects: Suspect...) { state.update { $0.suspects += suspects } }
        func fill() { state.update { $0.isFull = true } }
        func refuseEnds() { state.update { $0.refusesEnds = true } }

        func park(_ submission: ParkingSubmission) async throws(LedgerClosed) -> Durable<ParkingOutcome> {
            state.update { state in
                if state.isFull { return Durable(.tooManyWaiting, in: nil) }
                state.parked.append(submission)
                return Durable(.parked, in: nil)
            }
        }

        func leaseDue(limit: Int) async throws -> [LeasedSubmission] {
            state.update { state in
                state.limits.append(limit)
                defer { state.due = [] }
                return state.due
            }
        }

        func reschedule(
            _ leased: LeasedSubmission, reason: ParkingReason, detail: String?, history: WaitingHistory,
            dueAfterSeconds: Double
        ) async throws {
            try state.update { state throws(Abandoned) in
                if state.refusesEnds { throw Abandoned() }
                state.putBack.append(
                    PutBack(offset: leased.position.offset, reason: reason, detail: detail, history: history))
            }
        }

        func hasSuspect() async throws -> Bool { state.read { !$0.suspects.isEmpty } }

        func leaseSuspect() async throws -> Suspect {
            state.update { $0.suspects.isEmpty ? .none : $0.suspects.removeFirst() }
        }

        func clearSuspicion(of leased: LeasedSubmission) async throws {
            state.update { $0.accusations.append(Accused(offset: leased.position.offset, isAtWork: false)) }
        }

        func accuse(_ leased: LeasedSubmission) async throws {
            state.update { $0.accusations.append(Accused(offset: leased.position.offset, isAtWork: true)) }
        }

        func endLease(of leased: LeasedSubmission) async throws {
            state.update { $0.released.append(leased.position.offset) }
        }

        func delete(_ leased: LeasedSubmission) async throws {
            try state.update { state throws(Abandoned) in
                if state.refusesEnds { throw Abandoned() }
                state.removed.append(leased.position.offset)
            }
        }

        func wakeTroubled(
            _ count: Int, of apps: Set<BundleID>?, after place: NameBasedUUID?
        ) async throws -> NameBasedUUID? {
            troubled.update { $0.append(apps) }
            return nil
        }

        func retryBlocked(_ bundleID: BundleID, for reasons: [ParkingReason]) async throws {
            state.update {
                $0.woken.append(bundleID)
                $0.wokenReasons.append(reasons)
            }
        }
    }
}
