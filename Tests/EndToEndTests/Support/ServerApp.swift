import AppStoreSimulation

@testable import Demo

/// An app that the sample catalog does not have, with a key for the App Store Server API. If nobody submits a purchase,
/// workers grant the purchase to the player whom its account token names.
struct ServerApp {
    let bundleID: String
    let appleID: Int64
    /// Each product's id without the bundle id before it, and the product's members in the catalog.
    var products: KeyValuePairs = ["gems": "kind: consumable"]

    /// Returns an account token. The token is also the player's id.
    static func token(_ number: Int) -> String { "1a2b3c4d-0000-4000-8000-\(800_000_000_000 + number)" }

    /// Returns the settings of a worker: the roots, the key, and `more`.
    static func settings(_ more: [String: String]) -> [String: String] {
        DemoRun.settings(signing: Seeds.signing).merging(more) { $1 }
    }

    /// The entry of the app, which a test appends to the sample catalog.
    var catalog: String {
        """

          - bundle_id: \(bundleID)
            app_apple_id: \(appleID)
            server_api:
              issuer_id: 57246542-96fe-1a63-e053-0824d011072a
              key_id: 2X9R4HXF34
              private_key_setting: SEEDS_SERVER_API_KEY
            missed_purchases: grant
            account_token_is: player_id
            products:

        """ + products.map { "      - { product_id: \(bundleID).\($0), \($1) }\n" }.joined()
    }

    /// Lets the simulated Apple accept the key of the samples' app `com.example.castle.server` for this app.
    func configure(_ options: inout AppStoreSimulation.Options) {
        options.serverAPIKeys[bundleID] = options.serverAPIKeys["com.example.castle.server"]
    }
}
