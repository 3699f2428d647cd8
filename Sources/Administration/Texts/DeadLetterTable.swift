import Encodings
import Fulfillment
import Kafka
import NamesAndTimes
import Pipeline
import ReceiptdConfiguration

/// Formats dead letters as a table for people, or as JSON. The output never shows a record's content.
package enum DeadLetterTable: RowTable {
    package static let columns = ["PLACE", "SINCE", "REASON", "FROM", "WHOSE", "BYTES", "DETAIL"]
    package static let name = "dead_letters"
    package static let nothing = "there are no dead letters"

    package static func rest(_ shown: Int, of total: Int) -> String {
        "… the latest \(shown) of \(total); --limit shows more"
    }

    package static func cells(_ letter: StoredDeadLetter) -> [String] {
        [
            "\(letter.place.partition)/\(letter.offset)", time(of: letter) ?? "-", ShownText.plain(letter.reason),
            "\(ShownText.plain(letter.sourceTopic)) "
                + "\(letter.sourcePartition.map { "\($0)" } ?? "?")/\(letter.sourceOffset.map { "\($0)" } ?? "?")",
            whose(letter.owner), "\(letter.length)" + (letter.isExcerpt ? ", cut" : ""), ShownText.plain(letter.detail),
        ]
    }

    private static func whose(_ owner: StoredDeadLetter.Owner) -> String {
        if let player = owner.playerID {
            return "\(ShownText.plain(player)), submission \(ShownText.plain(owner.submissionID ?? "?"))"
        }
        return owner.key.map { "key \(ShownText.plain($0))" } ?? "-"
    }

    private static func time(of letter: StoredDeadLetter) -> String? {
        letter.timestampMilliseconds.map { Timestamp(milliseconds: $0).rfc3339 }
    }

    package static func write(_ letter: StoredDeadLetter, to json: inout JSONWriter) {
        json.beginObject()
        json.name("partition")
        json.number(letter.place.partition)
        json.name("offset")
        json.number(letter.offset)
        json.member("since", ifPresent: time(of: letter))
        json.member("reason", letter.reason)
        json.member("submission_id", ifPresent: letter.owner.submissionID)
        json.member("player_id", ifPresent: letter.owner.playerID)
        json.member("bundle_id", ifPresent: letter.owner.bundleID)
        json.member("key", ifPresent: letter.owner.key)
        json.member("detail", letter.detail)
        json.member("source_topic", letter.sourceTopic)
        if let partition = letter.sourcePartition {
            json.name("source_partition")
            json.number(partition)
        }
        if let offset = letter.sourceOffset {
            json.name("source_offset")
            json.number(offset)
        }
        json.name("length")
        json.number(letter.length)
        json.name("is_excerpt")
        json.bool(letter.isExcerpt)
        json.endObject()
    }
}
