// swift-tools-version:6.1
import PackageDescription

/// Every target: Swift 6 mode (by the tools version), warnings are errors.
let strict: [SwiftSetting] = [
    .unsafeFlags(["-warnings-as-errors"]),
    // Debug builds, and so all tests, check exclusive access; the check costs the release build a few per cent.
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

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
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", "4.0.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.29.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.0.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        // What wraps C.
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CSpawn"),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // Bounds what librdkafka unpacks of a fetch.
        .target(name: "CUnpackingLimit"),
        .target(name: "Kafka", dependencies: ["CRDKafka", "CUnpackingLimit"], swiftSettings: strict),
        .target(name: "Postgres", dependencies: ["CLibPQ"], swiftSettings: strict),

        // What is our own and knows no word of the domain (docs/decisions/0034-own-parts-behind-fences.md).
        .target(name: "Encodings", swiftSettings: strict),
        .target(name: "Identifiers", swiftSettings: strict),
        .target(name: "Timestamps", swiftSettings: strict),
        .target(name: "Clocks", dependencies: ["Timestamps"], swiftSettings: strict),
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
                "Encodings", "Identifiers", "Timestamps", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),

        .target(
            name: "AppleProofs",
            dependencies: [
                "Fulfillment",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict),

        // What moves.
        .target(
            name: "AppStore",
            dependencies: [
                "Clocks", "Fulfillment", "PlantedFaults", "PooledHTTP", "Timestamps",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(
            name: "Ledger", dependencies: ["Fulfillment", "PlantedFaults", "Postgres"],
            // A statement's file is named by its verb and table, and is beside the Swift that runs it.
            resources: [
                "Budget", "Holds", "Importing", "Inspecting", "Parking", "Reconciling", "Refunds", "Schema", "Statements",
                "Store",
            ].map { .embedInCode("\($0)/SQL") },
            swiftSettings: strict),
        .target(
            name: "Operations",
            dependencies: [
                "Clocks", "Timestamps",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Pipeline",
            dependencies: [
                "Clocks", "Fulfillment", "Kafka", "Operations", "PlantedFaults",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        // The simulated App Store: a library for tests and the demo, and a program for operators.
        .target(
            name: "AppStoreSimulation",
            dependencies: [
                "Encodings", "Timestamps",
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

        .executableTarget(
            name: "receiptd",
            dependencies: [
                "AppStore", "AppStoreSimulation", "AppleProofs", "CMalloc", "Clocks", "EmbeddedPostgres", "Fulfillment", "Kafka",
                "Ledger", "Operations", "Pipeline", "Postgres",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),

        // Parts that a test or the demo runs on.
        .target(name: "EmbeddedPostgres", dependencies: ["CSpawn"], swiftSettings: strict),
        // Bugs for the chaos suite to find; nothing at all in a release build.
        .target(name: "PlantedFaults", swiftSettings: strict),
        // What tests use in the place of a database; held to the same conformance suites.
        .target(
            name: "TestSupport", dependencies: ["Fulfillment"], path: "Tests/TestSupport", swiftSettings: strict),
        // Shows librdkafka's threads to the thread sanitizer; empty in every other build.
        .target(name: "CThreadShim"),
        .testTarget(
            name: "FulfillmentTests",
            dependencies: [
                "Encodings", "Fulfillment", "Timestamps", .product(name: "Crypto", package: "swift-crypto"),
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
                "AppleProofs", "Fulfillment",
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
                "AppStore", "AppStoreSimulation", "AppleProofs", "Fulfillment", "PooledHTTP",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "LedgerTests",
            dependencies: ["Ledger", "Postgres", "EmbeddedPostgres", "Fulfillment", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "Operations", "Timestamps",
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
                "Pipeline", "CThreadShim", "Fulfillment", "Kafka", "Operations", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReceiptdTests",
            dependencies: [
                "receiptd", "AppleProofs", "Fulfillment", "Kafka", "Ledger", "Operations",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "receiptd", "AppStoreSimulation", "EmbeddedPostgres", "Fulfillment", "Kafka", "Ledger", "Operations",
                "PlantedFaults", "Postgres",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
    ]
)
