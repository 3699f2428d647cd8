import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

@Suite("Each player's lane of submissions")
struct PlayerLanesTests {
    @Test("a player's submissions take turns in the order of their tickets, even if the last begins to wait first")
    func order() async {
        let lanes = PlayerLanes()
        let tickets = (0..<50).map { _ in lanes.enter("player") }
        let turns = Shared<[UInt64]>([])
        await withTaskGroup(of: Void.self) { group in
            for ticket in tickets.reversed() {
                group.addTask {
                    await lanes.turn(ticket)
                    turns.update { $0.append(ticket.number) }
                    lanes.leave(ticket)
                }
            }
        }
        #expect(turns.value == tickets.map(\.number))
        #expect(lanes.isEmpty)
    }

    @Test("a player's submission does not wait for another player's submission")
    func independent() async {
        let lanes = PlayerLanes()
        let first = lanes.enter("one")
        let other = lanes.enter("other")
        await lanes.turn(other)
        lanes.leave(other)
        await lanes.turn(first)
        lanes.leave(first)
        #expect(lanes.isEmpty)
    }

    @Test("if a player's second submission is cancelled, the third still waits for the first")
    func cancelled() async {
        let lanes = PlayerLanes()
        let first = lanes.enter("player")
        let second = lanes.enter("player")
        let third = lanes.enter("player")
        let hasTurn = Shared(false)
        let waiting = Task {
            await lanes.turn(second)
            lanes.leave(second)
        }
        let last = Task {
            await lanes.turn(third)
            hasTurn.update { $0 = true }
            lanes.leave(third)
        }
        waiting.cancel()
        await waiting.value
        #expect(!hasTurn.value)
        lanes.leave(first)
        await last.value
        #expect(lanes.isEmpty)
    }

    @Test("if a submission is cancelled before it waits for its player's turn, it does not wait")
    func cancelledBefore() async {
        let lanes = PlayerLanes()
        let first = lanes.enter("player")
        let second = lanes.enter("player")
        let waiting = Task {
            try? await untilCancelled()
            await lanes.turn(second)
            lanes.leave(second)
        }
        waiting.cancel()
        await waiting.value
        lanes.leave(first)
        #expect(lanes.isEmpty)
    }

    @Test(
        "if a submission leaves its lane early, or twice, the player's other submissions still get their turns in order"
    )
    func leaving() async {
        let lanes = PlayerLanes()
        let tickets = (0..<4).map { _ in lanes.enter("player") }
        lanes.leave(tickets[2])
        lanes.leave(tickets[2])
        lanes.leave(tickets[0])
        await lanes.turn(tickets[1])
        lanes.leave(tickets[1])
        await lanes.turn(tickets[3])
        lanes.leave(tickets[3])
        #expect(lanes.isEmpty)
    }

    private struct Step {
        let ticket: PlayerLanes.Ticket
        let yields: Int
        let cancels: Bool
        /// Whether the submission leaves without waiting for its turn.
        let isLocal: Bool
    }

    @Test("in random schedules a player's turns come one at a time, in order, and no waiting submission is forgotten")
    func random() async {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for _ in 0..<1500 {
            let lanes = PlayerLanes()
            let journal = Shared<[PlayerID: (active: Int, last: UInt64)]>([:])
            let faults = Shared(0)
            let players: [PlayerID] = (0..<1 + random.below(4)).map { PlayerID("player \($0)") }
            let plan = (0..<2 + random.below(20)).map { _ in
                Step(
                    ticket: lanes.enter(random.pick(players)), yields: random.below(4), cancels: random.chance(25),
                    isLocal: random.chance(20))
            }
            await withTaskGroup(of: Void.self) { group in
                for step in plan.shuffled(using: &random) {
                    let player = step.ticket.player
                    let task = Task {
                        for _ in 0..<step.yields { await Task.yield() }
                        defer { lanes.leave(step.ticket) }
                        if step.isLocal { return }
                        await lanes.turn(step.ticket)
                        if Task.isCancelled { return }
                        journal.update { journal in
                            let before = journal[player] ?? (0, 0)
                            if before.active != 0 || before.last >= step.ticket.number { faults.update { $0 += 1 } }
                            journal[player] = (before.active + 1, step.ticket.number)
                        }
                        await Task.yield()
                        journal.update { $0[player]?.active -= 1 }
                    }
                    group.addTask {
                        if step.cancels { task.cancel() }
                        await task.value
                    }
                }
            }
            guard faults.value == 0, lanes.isEmpty else {
                Issue.record("\(faults.value) faults, seed \(seed)")
                return
            }
        }
    }
}
