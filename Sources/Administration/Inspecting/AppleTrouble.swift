import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import ReceiptdConfiguration

/// Finds the time since which Apple has answered nothing, from the workers' counts in PostgreSQL.
enum AppleTrouble {
    /// The number of last minutes in which a failed request counts as present trouble. A worker may store a minute's
    /// counts as late as one minute after that minute.
    private static let newestMinutes = 3

    /// The results of the requests to one of Apple's endpoints, by minute.
    private struct Asked {
        var answered: [Bool]
        var troubled: [String: [Int]] = [:]
    }

    /// Returns a line for each endpoint whose requests failed in the newest minutes. The line covers the time since
    /// Apple's last answer there.
    /// - Parameters:
    ///   - traffic: the traffic of the last hour.
    ///   - now: the time at which the traffic was read.
    static func lines(_ traffic: Traffic, now: Timestamp) -> [String] {
        let minutes = traffic.span.bins
        var asked: [String: Asked] = [:]
        for row in traffic.rows(.apple) {
            guard let space = row.name.lastIndex(of: " ") else { continue }
            let (endpoint, result) = (String(row.name[..<space]), String(row.name[space...].dropFirst()))
            var known = asked[endpoint] ?? Asked(answered: Array(repeating: false, count: minutes))
            if AppleAnswer.TroubleKind(rawValue: result) == nil {
                for (minute, count) in row.bins.enumerated() where count > 0 { known.answered[minute] = true }
            } else {
                known.troubled[result] = row.bins
            }
            asked[endpoint] = known
        }
        return asked.sorted { $0.key < $1.key }.compactMap { endpoint, known in
            let quiet = (known.answered.lastIndex(of: true) ?? -1) + 1
            let counts = known.troubled.mapValues { $0.dropFirst(quiet) }
            let first = counts.values.compactMap { $0.firstIndex { $0 > 0 } }.min()
            let last = counts.values.compactMap { $0.lastIndex { $0 > 0 } }.max()
            guard let first, let last, last >= minutes - newestMinutes else { return nil }
            let kinds = counts.mapValues { $0.reduce(0, +) }.filter { $0.value > 0 }
                .sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
            let newest = now.milliseconds / 1000 / traffic.span.binSeconds
            let began = (newest - Int64(minutes) + 1 + Int64(first)) * traffic.span.binSeconds
            let since = first == 0 ? "for an hour or longer" : "since \(Timestamp(milliseconds: began * 1000).rfc3339)"
            return "Apple has been in trouble \(since): no answer to \(ShownText.plain(endpoint)) "
                + "(\(kinds.joined(separator: ", ")))"
        }
    }
}
