import Fulfillment
import NamesAndTimes
import Postgres

/// Reads the facts for risk signals, in one statement for a whole batch. The statement also stores sightings of
/// devices. It waits for no other batch, because sightings have no key.
struct FindRisk {
    private static let statement = LedgerSQL.statement(PackageResources.insert_sightings_and_find_risk_sql)

    private struct Wanted: Hashable {
        let device: RiskFacts.Device?
        let day: RiskFacts.PlayerDay
        /// The UTC day of the decision, in days since 1970.
        let seenOn: Int32
    }

    private let given: [Wanted]
    /// The highest threshold of the batch, which limits the count. Some devices have millions of players, for example
    /// if all clients send the same device id.
    private let counted: Int64

    init(for decisions: [PendingDecision]) {
        var given: [Wanted] = []
        var highest = 1
        for decision in decisions {
            guard let risk = decision.risk, case .each(let judged) = decision.verdict else { continue }
            highest = max(highest, risk.highest)
            let (device, seenOn) = (decision.device, decision.decidedAt.daysSinceEpoch)
            let wanted = judged.lazy.filter { !$0.verdict.isRejection }.map {
                Wanted(device: device, day: decision.playerDay(of: $0.purchase), seenOn: seenOn)
            }
            // Hundreds of purchases in one receipt may need the same row, so each receipt's equal rows are merged. Two
            // receipts rarely need the same row.
            if judged.count == 1 { given += wanted } else { given += Set(wanted) }
        }
        self.given = given
        counted = min(Int64(highest), RiskFacts.maximumCounted)
    }

    /// The query; nil if no fact is needed.
    var call: PostgresCall? {
        guard !given.isEmpty else { return nil }
        return PostgresCall(
            Self.statement,
            [
                .identifiers(given.lazy.map(\.day.bundleID)), .textArray(given.map { $0.device?.id.text }),
                .identifiers(given.lazy.map(\.day.player)),
                .dateArray(daysSinceUnixEpoch: given.map(\.seenOn)),
                .timestamps(given.map { Timestamp(milliseconds: Int64($0.day.day) * 86_400_000) }),
                .int8(counted),
                .dateArray(daysSinceUnixEpoch: given.map { $0.seenOn - RiskFacts.deviceDays + 1 }),
                .int8(Int64(RiskFacts.deviceDays)),
            ])
    }

    func facts(_ rows: PostgresRows) throws -> RiskFacts {
        var facts = RiskFacts()
        let (numbers, granted) = (try rows.column("number"), try rows.column("granted"))
        let (buyers, users) = (try rows.column("accounts"), try rows.column("players"))
        for row in 0..<rows.count {
            guard let number = rows.int8(row, numbers) else { continue }
            let asked = given[Int(number) - 1]
            facts.purchasesOfDay[asked.day] = Int(rows.int8(row, granted) ?? 0)
            if let accounts = rows.textArray(row, buyers) {
                let player = RiskFacts.PlayerOfApp(bundleID: asked.day.bundleID, player: asked.day.player)
                facts.accountsOfPlayer[player] = Set(accounts.compactMap { $0.map { Identifier($0) } })
            }
            guard let device = asked.device, let players = rows.textArray(row, users) else { continue }
            facts.playersOfDevice[device, default: []].formUnion(players.compactMap { $0.map { Identifier($0) } })
        }
        return facts
    }
}
