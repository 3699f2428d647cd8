import Fulfillment

/// The state of Apple, which the test controls, with a clock that the test moves.
public final class Outage: AppleState {
    private struct State {
        var now = 0.0
        var downSince: Double?
        var downBefore = 0.0
        var lastAnswer = -Double.infinity
    }

    /// The seconds after Apple's last answer for which Apple counts as answering.
    private static let answeringSeconds = 60.0

    private let state: Shared<State>

    /// Makes the state before the first request to Apple.
    public init(changes: ChangeSignal = ChangeSignal()) { state = Shared(State(), changes) }

    /// Returns the state just after an answer of Apple.
    public static func withAnswers(changes: ChangeSignal = ChangeSignal()) -> Outage {
        let outage = Outage(changes: changes)
        outage.answer()
        return outage
    }

    public func answer() { state.update { $0.lastAnswer = $0.now } }

    public func begin() {
        state.update { state in
            if state.downSince == nil { state.downSince = state.now }
        }
    }

    /// Ends the outage with an answer of Apple.
    public func end() {
        state.update { state in
            state.downBefore += state.downSince.map { state.now - $0 } ?? 0
            state.downSince = nil
            state.lastAnswer = state.now
        }
    }

    public func pass(seconds: Double) { state.update { $0.now += seconds } }

    /// Begins an outage, and ends it after `seconds`.
    public func last(seconds: Double) {
        begin()
        pass(seconds: seconds)
        end()
    }

    /// True while Apple fails. The worker reads this after each failed try, and each read wakes waiting tests.
    public var isDown: Bool { state.update { $0.downSince != nil } }
    public var downSeconds: Double {
        state.update { state in state.downBefore + (state.downSince.map { state.now - $0 } ?? 0) }
    }
    public var answersOthers: Bool {
        state.update { $0.downSince == nil && $0.now - $0.lastAnswer < Self.answeringSeconds }
    }
}
