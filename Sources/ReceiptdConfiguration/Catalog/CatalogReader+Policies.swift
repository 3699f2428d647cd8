import Fulfillment
import NamesAndTimes

extension CatalogReader {
    mutating func policies(of app: inout AppPolicy, in fields: inout CatalogFields) {
        choose("verification", in: &fields, into: &app.verification, AppPolicy.Verification.allCases.named)
        choose("account_token", in: &fields, into: &app.accountToken, AppPolicy.AccountTokenPolicy.allCases.named)
        choose(
            "account_token_is", in: &fields, into: &app.accountTokenIs, AppPolicy.AccountTokenMeaning.allCases.named)
        choose("family_shared", in: &fields, into: &app.acceptsFamilyShared, [("reject", false), ("accept", true)])
        if let node = fields.take("sandbox") { app.sandbox = sandbox(node) }
        if let node = fields.take("cutover") { app.cutover = time(node, called: "cutover") }
        if let node = fields.take("currencies") { app.currencies = currencies(node) }
        if let node = fields.take("risk"), var inner = self.fields(of: node, called: "risk") {
            threshold("shared_device_players", in: &inner, into: &app.risk.sharedDevicePlayers)
            threshold("many_accounts", in: &inner, into: &app.risk.manyAccounts)
            threshold("small_purchases_per_day", in: &inner, into: &app.risk.smallPurchasesPerDay)
            finish(inner)
        }
    }

    private mutating func threshold(_ name: String, in fields: inout CatalogFields, into target: inout Int) {
        guard let node = fields.take(name) else { return }
        if let value = integer(node, called: name, in: CatalogLimits.riskThreshold) { target = Int(value) }
    }

    private enum SandboxWord: String, CaseIterable {
        case reject, allowlist, accept
    }

    private mutating func sandbox(_ node: YAMLNode) -> AppPolicy.SandboxPolicy {
        guard var fields = fields(of: node, called: "sandbox") else { return .reject }
        var word = SandboxWord.reject
        choose("policy", in: &fields, into: &word, SandboxWord.allCases.named)
        let list = fields.take("players")
        finish(fields)
        guard word == .allowlist else {
            if let list { fail(list.position, "`players` is only for `policy: allowlist`") }
            return word == .accept ? .accept : .reject
        }
        guard let list else {
            fail(node.position, "`policy: allowlist` needs `players`, the list of admitted players")
            return .reject
        }
        guard let elements = elements(of: list, called: "players") else { return .reject }
        if elements.isEmpty { fail(list.position, "`players` must name at least one player") }
        var players: Set<PlayerID> = []
        for element in elements {
            guard let player = text(element, called: "a player", maximum: CatalogLimits.playerLength) else { continue }
            players.insert(PlayerID(player))
        }
        return .allowlist(players)
    }

    private mutating func currencies(_ node: YAMLNode) -> Set<String>? {
        guard let list = elements(of: node, called: "currencies") else { return nil }
        if list.isEmpty {
            fail(node.position, "`currencies` must name at least one currency; leave the key out to admit all")
        }
        var currencies: Set<String> = []
        for element in list {
            guard let code = text(element, called: "a currency", maximum: CatalogLimits.nameLength) else { continue }
            guard code.utf8.count == 3, code.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) && $0 < 0x80 }) else {
                fail(element.position, "a currency is three letters of ISO 4217, not \(ShownText.quoted(code))")
                continue
            }
            currencies.insert(code.uppercased())
        }
        return currencies
    }

    private mutating func time(_ node: YAMLNode, called name: String) -> Timestamp? {
        guard let text = text(node, called: name, maximum: CatalogLimits.nameLength) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            let requirement = "a time of RFC 3339 with its zone, such as 2026-11-01T00:00:00Z"
            fail(node.position, "`\(name)` must be \(requirement), not \(ShownText.quoted(text))")
            return nil
        }
        return time
    }
}

extension Collection where Element: RawRepresentable, Element.RawValue == String {
    /// Each value with its word in the catalog file.
    var named: [(word: String, value: Element)] { map { ($0.rawValue, $0) } }
}
