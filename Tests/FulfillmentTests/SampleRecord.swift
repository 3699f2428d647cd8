import Encodings
import NamesAndTimes

@testable import Fulfillment

/// A submission's JSON, with each member as raw JSON, so that a test can damage one member.
struct SampleRecord {
    private var members: [(name: String, json: String)] = [
        ("submission_id", #""submission-1""#), ("player_id", #""player-1""#), ("bundle_id", #""com.example.game""#),
        ("receipt_data", #""MA==""#),
    ]

    static let sender = DeadLetter.Sender(
        submissionID: "submission-1", playerID: "player-1", bundleID: "com.example.game", orderID: nil)

    /// Returns a copy with the member set, or without the member if `json` is nil.
    func with(_ name: String, _ json: String?) -> SampleRecord {
        var copy = self
        copy.members.removeAll { $0.name == name }
        if let json { copy.members.append((name, json)) }
        return copy
    }

    func adding(_ name: String, _ json: String) -> SampleRecord {
        var copy = self
        copy.members.append((name, json))
        return copy
    }

    var bytes: [UInt8] {
        Array("{\(members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ","))}".utf8)
    }

    func decoded(_ decoder: SubmissionDecoder = SubmissionDecoder()) -> SubmissionDecoder.Decoded {
        decoder.decode(bytes, signatureHeaders: [])
    }

    var submission: Submission? { decoded().submission }
    var deadLetter: DeadLetter? { decoded().deadLetter }
}

extension SubmissionDecoder.Decoded {
    var submission: Submission? {
        if case .submission(let submission) = self { submission } else { nil }
    }

    var deadLetter: DeadLetter? {
        if case .deadLetter(let letter) = self { letter } else { nil }
    }
}

func quoted(_ text: String) -> String {
    var json = JSONWriter()
    json.string(text)
    return String(decoding: json.bytes, as: UTF8.self)
}
