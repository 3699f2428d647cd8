import Fulfillment
import Operations
import Testing

@testable import Pipeline

@Suite("The turns that a process's loops take to isolate a record")
struct IsolationTurnTests {
    private let notifications = IsolationTurn.Member.topic("notifications")
    private let accounts = IsolationTurn.Member.topic("accounts")

    @Test("the topics' loops work side by side while no loop isolates a record")
    func together() {
        let turn = IsolationTurn()
        #expect(turn.begin(notifications) && turn.begin(accounts))
        #expect(!turn.isWanted(byOthersThan: .submissions))
    }

    @Test(
        "a loop gets the turn to isolate once the other loops are idle, and no other loop begins work during the turn")
    func exclusive() {
        let turn = IsolationTurn()
        #expect(turn.begin(accounts))
        #expect(!turn.take(notifications), "submissions and accounts are under way")
        #expect(!turn.begin(accounts) && turn.isWanted(byOthersThan: .submissions))
        turn.ended(.submissions)
        #expect(!turn.take(notifications))
        turn.ended(accounts)
        #expect(turn.take(notifications) && turn.take(notifications))
        #expect(!turn.begin(.submissions) && !turn.begin(accounts))
        turn.pass(notifications)
        #expect(turn.begin(.submissions) && turn.begin(accounts))
    }

    @Test("the loops get the turn to isolate a record in the order of their requests; a repeated request comes last")
    func firstComeFirstServed() {
        let turn = IsolationTurn()
        #expect(turn.take(.submissions), "its own work is no obstacle")
        #expect(!turn.take(notifications) && !turn.isWanted(byOthersThan: .submissions))
        turn.pass(.submissions)
        #expect(!turn.take(.submissions), "the other is first now")
        #expect(turn.isWanted(byOthersThan: .submissions))
        turn.ended(.submissions)
        #expect(turn.take(notifications))
        turn.pass(notifications)
        #expect(!turn.take(notifications) && turn.take(.submissions))
    }

    @Test("a loop that withdraws its request for the turn to isolate does not block the other loops")
    func givesUp() {
        let gauge = Gauge()
        let turn = IsolationTurn(gauge: gauge)
        #expect(!turn.take(notifications) && !turn.take(accounts))
        turn.pass(notifications)
        #expect(gauge.value == 1, "the other still waits")
        turn.pass(accounts)
        #expect(gauge.value == 0)
        #expect(turn.begin(.submissions) && turn.begin(accounts))
    }
}
