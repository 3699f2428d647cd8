import Fulfillment

extension CatalogReader {
    static let onOff = [(word: "on", value: true), (word: "off", value: false)]

    /// Reads the policy for Apple's announcements, and for requests to Apple without a submission.
    mutating func announcements(of app: inout AppPolicy, in fields: inout CatalogFields) {
        let positions = Dictionary(
            fields.entries.map { ($0.name, $0.position) }, uniquingKeysWith: { first, _ in first })
        choose(
            "missed_purchases", in: &fields, into: &app.announcements.missedPurchases,
            AnnouncementPolicy.MissedPurchasePolicy.allCases.named)
        choose("renewals", in: &fields, into: &app.announcements.renewals, [("follow", .follow), ("off", .off)])
        choose(
            "local_refusals", in: &fields, into: &app.announcements.asksBeforeRefusing,
            [("trust", false), ("ask", true)])
        choose("refund_check", in: &fields, into: &app.announcements.checksRefunds, Self.onOff)
        choose("finish", in: &fields, into: &app.announcements.finishesGrants, [("off", false), ("after_grant", true)])
        if let node = fields.take("consumption") { app.announcements.consumption = consumption(node) }
        func need(_ name: String, _ isAsked: Bool, _ words: String) {
            guard isAsked, let position = positions[name] else { return }
            fail(position, words)
        }
        if app.serverAPI == nil, positions["server_api"] == nil {
            need("finish", app.announcements.finishesGrants, "`finish: after_grant` needs `server_api`")
            need("consumption", app.announcements.consumption != nil, "`consumption` needs `server_api`")
            need("refund_check", app.announcements.checksRefunds, "`refund_check: on` needs `server_api`")
            need(
                "renewals", app.announcements.renewals == .follow && app.sharedSecretSetting == nil,
                "`renewals: follow` needs `server_api` or `shared_secret_setting`")
        }
    }

    private mutating func consumption(_ node: YAMLNode) -> ConsumptionPolicy? {
        guard var inner = fields(of: node, called: "consumption") else { return nil }
        var policy = ConsumptionPolicy()
        var hasConsented = false
        let consent = required("customer_consented", in: &inner)
        if let consent {
            var fields = CatalogFields(
                [YAMLEntry(name: "customer_consented", position: consent.position, value: consent)],
                position: consent.position, owner: inner.owner)
            choose("customer_consented", in: &fields, into: &hasConsented, Self.yesNo)
            if !hasConsented {
                fail(consent.position, "`customer_consented` must be true: Apple accepts no answer without consent")
            }
        }
        choose(
            "refund_preference", in: &inner, into: &policy.refundPreference,
            ConsumptionPolicy.RefundPreference.allCases.map { ($0.rawValue, Optional($0)) })
        choose("sample_content_provided", in: &inner, into: &policy.providesSampleContent, Self.yesNo)
        finish(inner)
        return policy
    }

    private static let yesNo = [(word: "true", value: true), (word: "false", value: false)]
}
