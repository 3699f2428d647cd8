// swift-tools-version:6.1
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "receiptd", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .executableTarget(
            name: "PipelineBenchmark",
            dependencies: [
                .product(name: "AppStoreSimulation", package: "receiptd"),
                .product(name: "AppleProofs", package: "receiptd"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "EmbeddedPostgres", package: "receiptd"),
                .product(name: "Kafka", package: "receiptd"),
            ])
    ]
)
