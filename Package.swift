// swift-tools-version:6.2
import PackageDescription

/// Every target: Swift 6 mode (by the tools version), warnings are errors. No unsafe flags, so that what is a product can be
/// another package's dependency.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What reads bytes from outside: `scripts/fuzz.sh` builds it with the fuzzer's counters and the address sanitizer.
let fuzzed = strict + [.unsafeFlags(["-sanitize=fuzzer,address"], .when(traits: ["Fuzzing"]))]

/// What `receiptd --version` says beside the number: `scripts/release.sh` sets it, no other build does.
let commit: [CSetting] = Context.environment["RECEIPTD_COMMIT"].map { [.define("RECEIPTD_COMMIT", to: $0)] } ?? []

/// SQL statements, one a file, named by verb and table, in the room of the Swift that runs them.
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
    // Exact, since no lock file is kept: what is built is what was tested.
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
        // What wraps C.
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .target(name: "CCommit", cSettings: commit),
        .systemLibrary(name: "CSpawn"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // Bounds what librdkafka unpacks of a fetch.
        .target(name: "CUnpackingLimit"),
        .target(name: "Kafka", dependencies: ["CRDKafka", "CUnpackingLimit"], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ"], swiftSettings: strict),

        // What is our own and knows no word of the domain (docs/decisions/0034-own-parts-behind-fences.md).
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

        // What decides.
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

        // What moves.
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
        // What people look up in the ledger, and change by hand.
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

        // The program: what it is told, what operators do, what it shows, and the worker's assembly.
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

        // Measured and fuzzed by hand, compiled with everything else.
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

        // Parts that a test or the demo runs on.
        .target(name: "EmbeddedPostgres", dependencies: ["CSpawn"], swiftSettings: strict),
        // Bugs for the chaos suite to find; nothing at all in a release build.
        .target(name: "PlantedFaults", swiftSettings: strict),
        // What tests use in the place of a database, held to the same conformance suites; and how they wait.
        .target(
            name: "TestSupport",
            dependencies: ["Encodings", "Fulfillment", "NamesAndTimes"],
            path: "Tests/TestSupport", swiftSettings: strict),
        // Judges histories by the contract; knows nothing of the worker.
        .target(
            name: "HistoryModel", dependencies: ["Encodings"], path: "Tests/HistoryModel", swiftSettings: strict),
        .testTarget(name: "HistoryModelTests", dependencies: ["HistoryModel"], swiftSettings: strict),
        // Draws histories and plays them on the worker that was built.
        .executableTarget(
            name: "Histories",
            dependencies: [
                "AppStoreSimulation", "EmbeddedPostgres", "Encodings", "HistoryModel", "Kafka", "Postgres",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Histories", exclude: ["Kept"], swiftSettings: strict),
        // Shows librdkafka's threads to the thread sanitizer; empty in every other build.
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
                "Kafka", "CThreadShim",
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
