import Fulfillment
import Synchronization

/// Orders each player's submissions: the worker decides one after the other, in record order. Submissions of different
/// players do not wait for one another.
///
/// The consumer's thread issues a ticket for each submission, which fixes the order. The submission's task waits until
/// its ticket is the first in its lane, the player's queue.
final class PlayerLanes: Sendable {
    struct Ticket: Sendable {
        fileprivate let lane: Lane
        let number: UInt64

        var player: PlayerID { lane.player }
    }

    /// One player's tickets, in order. The lane ends when its last ticket leaves.
    ///
    /// `@unchecked Sendable` is sound: the variables are used only under the lock of the lane's `PlayerLanes`.
    fileprivate final class Lane: @unchecked Sendable {
        let player: PlayerID
        var waiting: [Waiting] = []
        /// The sum of the seconds that each submission of this lane waited for Apple during its turn.
        var secondsAtApple = 0.0

        init(_ player: PlayerID) {
            self.player = player
        }

        func index(of ticket: Ticket) -> Int? { waiting.firstIndex { $0.number == ticket.number } }
    }

    fileprivate struct Waiting {
        let number: UInt64
        var continuation: CheckedContinuation<Void, Never>?
    }

    private struct State {
        var nextNumber: UInt64 = 0
        /// The lanes by player. The first ticket of each lane has the turn.
        var lanes: [PlayerID: Lane] = [:]
    }

    private let state = Mutex(State())

    func enter(_ player: PlayerID) -> Ticket { state.withLock { Self.enter(player, &$0) } }

    /// Issues a ticket. Returns nil if the player already has `limit` tickets.
    func enter(_ player: PlayerID, limit: Int) -> Ticket? {
        state.withLock { state in
            state.lanes[player]?.waiting.count ?? 0 < limit ? Self.enter(player, &state) : nil
        }
    }

    private static func enter(_ player: PlayerID, _ state: inout State) -> Ticket {
        let lane: Lane
        if let present = state.lanes[player] {
            lane = present
        } else {
            lane = Lane(player)
            state.lanes[player] = lane
        }
        state.nextNumber += 1
        lane.waiting.append(Waiting(number: state.nextNumber))
        return Ticket(lane: lane, number: state.nextNumber)
    }

    /// Returns when the ticket is the first in its lane, or when the task is cancelled.
    func turn(_ ticket: Ticket) async {
        if isFirst(ticket) { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { _ in
                    guard !Task.isCancelled, let index = ticket.lane.index(of: ticket), index > 0 else { return true }
                    ticket.lane.waiting[index].continuation = continuation
                    return false
                }
                if mayGo { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { _ in
                ticket.lane.index(of: ticket).flatMap { ticket.lane.waiting[$0].continuation.take() }
            }
            continuation?.resume()
        }
    }

    /// Removes the ticket. If it had the turn, the next ticket gets the turn. Call this once for each ticket, even
    /// after a failure.
    func leave(_ ticket: Ticket) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            let lane = ticket.lane
            guard let index = lane.index(of: ticket) else { return nil }
            lane.waiting.remove(at: index)
            if lane.waiting.isEmpty {
                state.lanes[lane.player] = nil
                return nil
            }
            return index == 0 ? lane.waiting[0].continuation.take() : nil
        }
        next?.resume()
    }

    /// Adds to the ticket's lane the seconds that the submission waited for Apple during its turn. The worker calls
    /// this at a verdict, and when it parks the submission.
    func noteAtApple(_ ticket: Ticket, seconds: Double) {
        state.withLock { _ in ticket.lane.secondsAtApple += seconds }
    }

    /// Returns the sum of the seconds that `noteAtApple` added in the ticket's lane.
    func secondsAtApple(_ ticket: Ticket) -> Double { state.withLock { _ in ticket.lane.secondsAtApple } }

    /// True if no player has a ticket.
    var isEmpty: Bool { state.withLock { $0.lanes.isEmpty } }

    func isFirst(_ ticket: Ticket) -> Bool {
        state.withLock { _ in ticket.lane.waiting.first?.number == ticket.number }
    }
}
