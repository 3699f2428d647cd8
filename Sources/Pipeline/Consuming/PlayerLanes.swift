import Fulfillment
import Synchronization

/// Submissions of one player are decided one after the other, in record order; players do not wait for one another.
///
/// A ticket is drawn on the consumer's thread, which fixes the order; the turn is awaited by the submission's task.
final class PlayerLanes: Sendable {
    struct Ticket: Sendable {
        let player: PlayerID
        let number: UInt64
    }

    private struct Waiting {
        let number: UInt64
        var continuation: CheckedContinuation<Void, Never>?
    }

    private struct State {
        var nextNumber: UInt64 = 0
        /// The first of each lane has its turn.
        var lanes: [PlayerID: [Waiting]] = [:]
    }

    private let state = Mutex(State())

    func enter(_ player: PlayerID) -> Ticket {
        state.withLock { state in
            state.nextNumber += 1
            state.lanes[player, default: []].append(Waiting(number: state.nextNumber))
            return Ticket(player: player, number: state.nextNumber)
        }
    }

    /// Nil where the player has `limit` tickets already.
    func enter(_ player: PlayerID, limit: Int) -> Ticket? {
        state.withLock { state in
            guard state.lanes[player]?.count ?? 0 < limit else { return nil }
            state.nextNumber += 1
            state.lanes[player, default: []].append(Waiting(number: state.nextNumber))
            return Ticket(player: player, number: state.nextNumber)
        }
    }

    /// Returns when the ticket is first in its lane, or as soon as the task is cancelled.
    func turn(_ ticket: Ticket) async {
        if isFirst(ticket) { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { state in
                    guard !Task.isCancelled, let index = Self.index(of: ticket, in: state), index > 0 else {
                        return true
                    }
                    state.lanes[ticket.player]?[index].continuation = continuation
                    return false
                }
                if mayGo { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
                guard let index = Self.index(of: ticket, in: state) else { return nil }
                defer { state.lanes[ticket.player]?[index].continuation = nil }
                return state.lanes[ticket.player]?[index].continuation
            }
            continuation?.resume()
        }
    }

    /// Gives the turn to the next one. To be called once for each ticket, whatever became of it.
    func leave(_ ticket: Ticket) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let index = Self.index(of: ticket, in: state) else { return nil }
            state.lanes[ticket.player]?.remove(at: index)
            guard let first = state.lanes[ticket.player]?.first else {
                state.lanes[ticket.player] = nil
                return nil
            }
            guard index == 0 else { return nil }
            state.lanes[ticket.player]?[0].continuation = nil
            return first.continuation
        }
        next?.resume()
    }

    /// Whether nobody holds a ticket.
    var isEmpty: Bool { state.withLock { $0.lanes.isEmpty } }

    func isFirst(_ ticket: Ticket) -> Bool {
        state.withLock { $0.lanes[ticket.player]?.first?.number == ticket.number }
    }

    private static func index(of ticket: Ticket, in state: State) -> Int? {
        state.lanes[ticket.player]?.firstIndex { $0.number == ticket.number }
    }
}
