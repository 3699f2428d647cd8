import Fulfillment

/// The classes of traffic that people are shown, in the order of a chart from below: the same names and colours on the
/// worker's page and in the console.
package enum ShownClass: String, CaseIterable, Sendable {
    case genuine, repeated, unverifiable, other, junk, foreign

    package var style: String { self == .repeated ? "c-repeat" : "c-\(rawValue)" }

    /// Dead letters are junk besides.
    package var counted: [TrafficClass] {
        switch self {
        case .genuine: [.genuine]
        case .repeated: [.repeated]
        case .unverifiable: [.unverifiable]
        case .other: [.other]
        case .junk: [.junk, .forged]
        case .foreign: [.foreign]
        }
    }

    package var meaning: String {
        switch self {
        case .genuine: "granted or held"
        case .repeated: "the purchase was granted before, or belongs to another player"
        case .unverifiable: "Apple did not confirm the proof"
        case .other: "a genuine proof that holds nothing to grant, or that a rule refused"
        case .junk: "no receipt, a false signature, an unknown app, dead letters"
        case .foreign: "a receipt of another app"
        }
    }

    /// The number of records in each class.
    /// - Parameters:
    ///   - answered: submissions by class.
    ///   - deadLetters: all of them.
    ///   - answeredLetters: those whose sender got an event, which is junk by itself.
    package func count(_ answered: (TrafficClass) -> Int, deadLetters: Int, answeredLetters: Int) -> Int {
        counted.reduce(self == .junk ? max(0, deadLetters - answeredLetters) : 0) { $0 + answered($1) }
    }
}
