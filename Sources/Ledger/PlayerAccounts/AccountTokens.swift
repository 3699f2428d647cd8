import Fulfillment
import NamesAndTimes
import Postgres

/// Reads the learnt facts about account tokens under their locks, and writes the facts that a batch has learnt.
enum AccountTokens {
    private static let finding = LedgerSQL.statement(PackageResources.find_account_tokens_sql)
    private static let locking = LedgerSQL.statement(PackageResources.lock_account_tokens_sql)
    private static let learning = LedgerSQL.statement(PackageResources.update_account_tokens_sql)
    private static let noting = LedgerSQL.statement(PackageResources.insert_account_token_senders_sql)
    private static let notingAccounts = LedgerSQL.statement(PackageResources.insert_account_token_accounts_sql)
    private static let waking = LedgerSQL.statement(PackageResources.retry_disputed_holds_sql)

    typealias Facts = [AccountTokenKey: AccountTokenFacts]

    /// Finds the facts about the tokens in the decisions.
    ///
    /// After the claims, this function locks the rows of tokens about which the batch may learn something. So if two
    /// replicas meet a new token at the same time, the second replica reads the facts that the first replica has
    /// learnt.
    ///
    /// Two kinds of tokens need no lock, because the batch learns nothing about them: a constant of the app's client,
    /// and a token that the player has sent before, if the Apple accounts are known too.
    static func find(for decisions: [PendingDecision], in session: PostgresSession) throws -> Facts {
        var mentioned: Set<AccountTokenKey> = []
        for decision in decisions { mentioned.formUnion(decision.mentionedTokens) }
        guard !mentioned.isEmpty else { return [:] }
        var facts = try find(mentioned.sorted(), in: session)
        var open: Set<AccountTokenKey> = []
        for decision in decisions {
            let player = decision.submission.playerID
            for token in decision.learnableTokens {
                let accounts = decision.learnableAccounts(of: token)
                if facts[token]?.hasNothingToLearn(of: player, by: accounts) != true { open.insert(token) }
            }
        }
        guard !open.isEmpty else { return facts }
        let sorted = open.sorted()
        try session.execute(locking, parameters(sorted))
        facts.merge(try find(sorted, in: session)) { _, locked in locked }
        return facts
    }

    /// Writes the facts that settlements have learnt. Returns the app of each token that has just become a constant of
    /// the app's client.
    static func write(before: Facts, after: Facts, in session: PostgresSession) throws -> [BundleID] {
        let changed = after.filter { before[$0.key] != $0.value }.keys.sorted()
        guard !changed.isEmpty else { return [] }
        let learnt = changed.filter { before[$0]?.learntOf == nil && after[$0]?.learntOf != nil }
        if !learnt.isEmpty {
            try session.execute(
                learning, parameters(learnt) + [.textArray(learnt.map { after[$0]?.learntOf?.text })])
        }
        var senders: [(key: AccountTokenKey, player: PlayerID)] = []
        for key in changed {
            let new = (after[key]?.senders ?? []).subtracting(before[key]?.senders ?? [])
            senders += new.sorted().map { (key, $0) }
        }
        if !senders.isEmpty {
            try session.execute(
                noting, parameters(senders.map(\.key)) + [.identifiers(senders.lazy.map(\.player))])
        }
        var accounts: [(key: AccountTokenKey, account: AppTransactionID, player: PlayerID)] = []
        for key in changed {
            let known = before[key]?.accounts ?? [:]
            let new = (after[key]?.accounts ?? [:]).filter { known[$0.key] == nil }
            accounts += new.sorted { $0.key < $1.key }.map { (key, $0.key, $0.value) }
        }
        if !accounts.isEmpty {
            try session.execute(
                notingAccounts,
                parameters(accounts.map(\.key)) + [
                    .identifiers(accounts.lazy.map(\.account)), .identifiers(accounts.lazy.map(\.player)),
                ])
        }
        let constant = changed.filter { after[$0]?.isConstant == true && before[$0]?.isConstant != true }
        let held = constant.flatMap { key in (after[key]?.senders ?? []).sorted().map { (key.bundleID, $0) } }
        if !held.isEmpty {
            try session.execute(
                waking, [.identifiers(held.lazy.map(\.0)), .identifiers(held.lazy.map(\.1))])
        }
        return constant.map(\.bundleID)
    }

    private static func find(_ tokens: [AccountTokenKey], in session: PostgresSession) throws -> Facts {
        let rows = try session.execute(
            finding,
            parameters(tokens) + [
                .int8(Int64(AccountTokenFacts.maximumSenders) + 1), .int8(Int64(AccountTokenFacts.maximumAccounts)),
            ])
        let (numbers, player) = (try rows.column("number"), try rows.column("player_id"))
        let (senders, told) = (try rows.column("senders"), try rows.column("told_player_id"))
        let (accounts, buyers) = (try rows.column("accounts"), try rows.column("account_players"))
        var facts: Facts = [:]
        for row in 0..<rows.count {
            guard let number = rows.int8(row, numbers) else { continue }
            let bought = zip(rows.textArray(row, accounts) ?? [], rows.textArray(row, buyers) ?? [])
            facts[tokens[Int(number) - 1]] = AccountTokenFacts(
                learntOf: rows.text(row, player).map { Identifier($0) },
                senders: Set((rows.textArray(row, senders) ?? []).compactMap { $0.map { Identifier($0) } }),
                accounts: bought.reduce(into: [:]) { known, pair in
                    if let account = pair.0, let player = pair.1 { known[Identifier(account)] = Identifier(player) }
                },
                told: rows.text(row, told).map { Identifier($0) })
        }
        return facts
    }

    private static func parameters(_ tokens: [AccountTokenKey]) -> [PostgresParameter] {
        [.identifiers(tokens.lazy.map(\.bundleID)), .byteaArray(tokens.map(\.hash.bytes))]
    }
}
