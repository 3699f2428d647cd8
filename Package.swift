// swift-tools-version:6.2
import PackageDescription

/// The settings of every target: warnings are errors, and the tools version gives Swift 6 mode. There are no unsafe
/// flags, so that other packages can depend on the products.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The settings of targets that read bytes from outside. `scripts/fuzz.sh` builds these targets with the fuzzer's
/// counters and the address sanitizer.
let fuzzed = strict + [.unsafeFlags(["-sanitize=fuzzer,address"], .when(traits: ["Fuzzing"]))]

/// Defines the commit that `receiptd --version` prints beside the number. Only `scripts/release.sh` sets the commit.
let commit: [CSetting] = Context.environment["RECEIPTD_COMMIT"].map { [.define("RECEIPTD_COMMIT", to: $0)] } ?? []

/// Returns the folders of SQL statements, which lie beside the Swift code that runs them. Each statement has its own
/// file, named by verb and table.
func statements(in rooms: [String]) -> [Resource] { rooms.map { .embedInCode("\($0)/SQL") } }

let package = Package(
    name: "receiptd",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "receiptd", targets: ["receiptd"]),
        .executable(name: "AppStoreSimulator", targets: ["AppStoreSimulator"]),
        .library(name: "Kafka", targets: ["Kafka"]),
        .library(name: "Postgres", targets: ["Postgres"]),
        .library(name: "EmbeddedPostgres", targets: ["EmbeddedPostgres"]),
        .library(name: "AppStoreSimulation", targets: ["AppStoreSimulation"]),
        .library(name: "AppleProofs", targets: ["AppleProofs"]),
        .library(name: "Encodings", targets: ["Encodings"]),
        .library(name: "PooledHTTP", targets: ["PooledHTTP"]),
    ],
    traits: [
        .default(enabledTraits: ["Demo"]),
        .trait(
            name: "Demo", description: "`receiptd demo`, with a simulated App Store, PostgreSQL and the sample cases"),
        .trait(name: "Fuzzing", description: "Instruments the parsers for libFuzzer: see scripts/fuzz.sh"),
    ],
    // Exact versions, because the repository has no lock file: a build must use the tested versions.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // C libraries, and the targets that wrap them.
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .target(name: "CCommit", cSettings: commit),
        .systemLibrary(name: "CSpawn"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // Limits how much librdkafka unpacks of a fetch.
        .target(name: "CUnpackingLimit"),
        .target(name: "Kafka", dependencies: ["CRDKafka", "CUnpackingLimit"], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ"], swiftSettings: strict),

        // Our own parts, which use no term of the domain (docs/decisions/0034-own-parts-behind-fences.md).
        .target(name: "Encodings", swiftSettings: fuzzed),
        .target(name: "NamesAndTimes", swiftSettings: fuzzed),
        .target(
            name: "PooledHTTP",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),

        // The targets that decide.
        .target(
            name: "Fulfillment",
            dependencies: [
                "Encodings", "NamesAndTimes",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: fuzzed),

        .target(
            name: "AppleProofs",
            dependencies: [
                "Encodings", "Fulfillment", "NamesAndTimes",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: fuzzed),

        // The targets that act: requests to Apple, SQL, metrics, HTTP servers, and the flow of records.
        .target(
            name: "AppStore",
            dependencies: [
                "Encodings", "Fulfillment", "NamesAndTimes", "PlantedFaults", "PooledHTTP",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: fuzzed),
        .target(
            name: "Ledger",
            dependencies: [
                "Encodings", "Fulfillment", "NamesAndTimes", "PlantedFaults", "Postgres",
            ],
            resources: statements(in: [
                "AnnouncedPurchases", "Budget", "Catalogs", "Checkpoints", "Claims", "FollowedSubscriptions", "Grants",
                "HeldPurchases", "Leases", "OpenRefundRequests", "Outbox", "Outcomes", "OwedFinishes",
                "ParkedSubmissions", "PlayerAccounts", "Recall", "Refunds", "Risk", "Schema", "Traffic",
            ]),
            swiftSettings: strict),
        // Look-ups in the ledger, and changes by operators.
        .target(
            name: "BackOffice",
            dependencies: ["Encodings", "Fulfillment", "Ledger", "NamesAndTimes", "Postgres"],
            resources: statements(in: [
                "Audit", "Charts", "Erasing", "GrantDecisions", "GrantedUnits", "ImportedGrants", "Inspection",
                "KeptLetters", "Refunded", "Subscribers", "Waiting",
            ]),
            swiftSettings: strict),
        .target(
            name: "Operations",
            dependencies: [
                "Fulfillment", "NamesAndTimes",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "OperationsHTTP",
            dependencies: [
                "Fulfillment", "Operations",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Pipeline",
            dependencies: [
                "Encodings", "Fulfillment", "Kafka", "NamesAndTimes", "Operations", "PlantedFaults",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        // The simulated App Store: a library for tests and the demo, and a program for operators.
        .target(
            name: "AppStoreSimulation",
            dependencies: [
                "Encodings", "NamesAndTimes",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "AppStoreSimulator",
            dependencies: [
                "AppStoreSimulation",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),

        // The program: settings and catalog, operators' commands, measurements, console, demo, and the assembly of the
        // worker.
        .target(
            name: "ReceiptdConfiguration",
            dependencies: [
                "AppleProofs", "Encodings", "Fulfillment", "Kafka", "NamesAndTimes",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: fuzzed),
        .target(
            name: "Administration",
            dependencies: [
                "AppleProofs", "AppStore", "BackOffice", "CZlib", "Encodings", "Fulfillment", "Kafka", "Ledger",
                "NamesAndTimes",
                "Pipeline", "Postgres", "ReceiptdConfiguration",
            ],
            swiftSettings: strict),
        .target(
            name: "Monitoring",
            dependencies: [
                "AppStore", "Fulfillment", "Ledger", "NamesAndTimes", "Operations", "Postgres", "ReceiptdConfiguration",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Console",
            dependencies: [
                "Administration", "BackOffice", "Encodings", "Fulfillment", "Ledger", "NamesAndTimes", "Operations",
                "OperationsHTTP",
                "Postgres", "ReceiptdConfiguration",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Demo",
            dependencies: [
                "AppStoreSimulation", "BackOffice", "EmbeddedPostgres", "Encodings", "Fulfillment", "Kafka", "Ledger",
                "NamesAndTimes", "Pipeline", "Postgres", "ReceiptdConfiguration",
            ],
            swiftSettings: strict,
            plugins: ["BundleSeeds"]),
        .plugin(name: "BundleSeeds", capability: .buildTool()),
        .executableTarget(
            name: "receiptd",
            dependencies: [
                "Administration", "AppleProofs", "AppStore", "BackOffice", "CCommit", "CMalloc", "Console", "Encodings",
                "Fulfillment", "Kafka", "Ledger", "Monitoring", "NamesAndTimes", "Operations", "OperationsHTTP",
                "Pipeline", "Postgres", "ReceiptdConfiguration",
                .target(name: "Demo", condition: .when(traits: ["Demo"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),

        // The benchmark and the fuzzer. Every build compiles them.
        .executableTarget(
            name: "PipelineBenchmark",
            dependencies: [
                "AppStoreSimulation", "AppleProofs", "EmbeddedPostgres", "Kafka",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/PipelineBenchmark",
            swiftSettings: strict),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "AppleProofs", "AppStore", "Encodings", "Fulfillment", "NamesAndTimes", "ReceiptdConfiguration",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            path: "Fuzzing",
            swiftSettings: fuzzed,
            linkerSettings: [
                .unsafeFlags(["-sanitize=address", "-use-ld=lld"], .when(traits: ["Fuzzing"])),
                .linkedLibrary("stdc++", .when(traits: ["Fuzzing"])),
            ]),

        // Parts of tests and of the demo.
        .target(name: "EmbeddedPostgres", dependencies: ["CSpawn"], swiftSettings: strict),
        // Faults that the chaos suite must find. A release build has none of them.
        .target(name: "PlantedFaults", swiftSettings: strict),
        // Test doubles, which pass the same conformance suites as the real types, and functions that wait.
        .target(
            name: "TestSupport",
            dependencies: ["EmbeddedPostgres", "Encodings", "Fulfillment", "NamesAndTimes"],
            path: "Tests/TestSupport", swiftSettings: strict),
        // Judges histories by the contract, and knows nothing of the worker.
        .target(
            name: "HistoryModel", dependencies: ["Encodings"], path: "Tests/HistoryModel", swiftSettings: strict),
        .testTarget(name: "HistoryModelTests", dependencies: ["HistoryModel"], swiftSettings: strict),
        // Draws random histories, and plays them on the built worker.
        .executableTarget(
            name: "Histories",
            dependencies: [
                "AppStoreSimulation", "EmbeddedPostgres", "Encodings", "HistoryModel", "Kafka", "Postgres",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Histories", exclude: ["Kept"], swiftSettings: strict),
        // Shows librdkafka's threads to the thread sanitizer. The target is empty in every other build.
        .target(name: "CThreadShim"),
        .testTarget(
            name: "FulfillmentTests",
            dependencies: [
                "Encodings", "Fulfillment", "NamesAndTimes", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PooledHTTPTests",
            dependencies: [
                "PooledHTTP",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AppleProofsTests",
            dependencies: [
                "AppleProofs", "Encodings", "Fulfillment", "NamesAndTimes", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "KafkaTests",
            dependencies: [
                "Kafka", "CThreadShim", "EmbeddedPostgres",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", "EmbeddedPostgres"], swiftSettings: strict),
        .testTarget(
            name: "AppStoreTests",
            dependencies: [
                "AppleProofs", "AppStore", "AppStoreSimulation", "Encodings", "Fulfillment", "NamesAndTimes",
                "PooledHTTP", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "LedgerTests",
            dependencies: [
                "BackOffice", "Console", "EmbeddedPostgres", "Encodings", "Fulfillment", "Ledger", "NamesAndTimes",
                "Postgres",
                "TestSupport",
            ],
            exclude: ["OlderSchemas"], swiftSettings: strict),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "Fulfillment", "NamesAndTimes", "Operations", "OperationsHTTP", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AppStoreSimulationTests",
            dependencies: [
                "AppStoreSimulation",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PipelineTests",
            dependencies: [
                "CThreadShim", "Encodings", "Fulfillment", "Kafka", "NamesAndTimes", "Operations", "Pipeline",
                "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReceiptdTests",
            dependencies: [
                "Administration", "AppleProofs", "BackOffice", "Console", "Demo", "Encodings", "Fulfillment", "Kafka",
                "Ledger",
                "NamesAndTimes", "Operations", "Pipeline", "receiptd", "ReceiptdConfiguration",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Administration", "AppStoreSimulation", "Demo", "EmbeddedPostgres", "Encodings", "Fulfillment", "Kafka",
                "Ledger", "Operations", "Pipeline", "PlantedFaults", "Postgres", "receiptd", "ReceiptdConfiguration",
                "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
    ]
)
