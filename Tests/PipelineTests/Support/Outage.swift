import Fulfillment
import TestSupport

/// Whether Apple is out, as the test says.
final class Outage: AppleState {
    private struct State {
        var isDown = false
        var seconds = 0.0
    }

    private let state: Shared<State>

    init(changes: ChangeSignal) { state = Shared(State(), changes) }

    func begin() { state.update { $0.isDown = true } }
    func end() { state.update { $0.isDown = false } }
    /// One that is over.
    func last(seconds: Double) { state.update { $0.seconds += seconds } }

    /// Who waits is told that it was asked: it is after each try that failed.
    var isDown: Bool { state.update { $0.isDown } }
    var downSeconds: Double { state.read(\.seconds) }
}
