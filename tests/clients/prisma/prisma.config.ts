import { defineConfig } from "prisma/config";
import { PrismaPg } from "@prisma/adapter-pg";
import Result from "pg/lib/result.js";

// The adapter fails on columns of "char" and name, which the engine reads from PostgreSQL's catalogs: they are texts to it.
const texts: Record<number, number> = { 18: 25, 19: 25, 1002: 1009, 1003: 1009 };
const addFields = Result.prototype.addFields;
Result.prototype.addFields = function (fields: any[]) {
  for (const field of fields) field.dataTypeID = texts[field.dataTypeID] ?? field.dataTypeID;
  return addFields.call(this, fields);
};

// The engine's limits on its steps are a minute long, and its process would stay for them.
const start = globalThis.setTimeout;
globalThis.setTimeout = ((call: any, milliseconds: number, ...values: any[]) => {
  const timer = start(call, milliseconds, ...values);
  return milliseconds >= 10_000 ? timer.unref() : timer;
}) as any;

const main = new PrismaPg({ connectionString: process.env.DATABASE_URL, allowExitOnIdle: true });
// Migrations are tried on another database first.
const shadow = new PrismaPg({ connectionString: process.env.SHADOW_URL, allowExitOnIdle: true });

export default defineConfig({
  experimental: { adapter: true },
  engine: "js",
  schema: "schema.prisma",
  adapter: async () => ({
    provider: main.provider,
    adapterName: main.adapterName,
    connect: () => main.connect(),
    connectToShadowDb: async () => {
      const connection = await shadow.connect();
      await connection.executeScript("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
      return connection;
    },
  }),
} as any);
