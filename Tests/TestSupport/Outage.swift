import Fulfillment

/// Whether Apple is out, as the test says. Its time passes where the test lets it pass.
public final class Outage: AppleState {
    private struct State {
        var now = 0.0
        var downSince: Double?
        var downBefore = 0.0
        var lastAnswer = -Double.infinity
    }

    /// The answering time of the limits in front of Apple.
    private static let answeringSeconds = 60.0

    private let state: Shared<State>

    /// Nobody has asked Apple yet.
    public init(changes: ChangeSignal = ChangeSignal()) { state = Shared(State(), changes) }

    /// Apple has answered just now.
    public static func withAnswers(changes: ChangeSignal = ChangeSignal()) -> Outage {
        let outage = Outage(changes: changes)
        outage.answer()
        return outage
    }

    /// Apple answers someone.
    public func answer() { state.update { $0.lastAnswer = $0.now } }

    public func begin() {
        state.update { state in
            if state.downSince == nil { state.downSince = state.now }
        }
    }

    /// Ends the outage by an answer.
    public func end() {
        state.update { state in
            state.downBefore += state.downSince.map { state.now - $0 } ?? 0
            state.downSince = nil
            state.lastAnswer = state.now
        }
    }

    public func pass(seconds: Double) { state.update { $0.now += seconds } }

    /// One that is over.
    public func last(seconds: Double) {
        begin()
        pass(seconds: seconds)
        end()
    }

    /// Whether Apple is down. A waiting test learns that it was asked: it is after each try that failed.
    public var isDown: Bool { state.update { $0.downSince != nil } }
    public var downSeconds: Double {
        state.update { state in state.downBefore + (state.downSince.map { state.now - $0 } ?? 0) }
    }
    public var answersOthers: Bool {
        state.update { $0.downSince == nil && $0.now - $0.lastAnswer < Self.answeringSeconds }
    }
}
