// Everyday queries of Prisma's client; prints what they give.
const { PrismaClient, Prisma } = require("./client");
const { PrismaPg } = require("@prisma/adapter-pg");
const say = (what, value) => console.log(what, JSON.stringify(value, (_, v) => typeof v === "bigint" ? `${v}n` : v instanceof Uint8Array ? Buffer.from(v).toString("hex") : v));
const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
async function shown(what, work) { try { say(what, await work()); } catch (e) { console.log(what, "FAILED", e.code, e.message.slice(-300), JSON.stringify(e.meta ?? null)); } }
async function refused(what, work) {
  try { await work(); console.log(what, "passed"); }
  catch (e) { console.log(what, e.code ?? e.constructor.name, JSON.stringify(e.meta?.target ?? e.meta?.driverAdapterError?.cause ?? e.meta ?? e.message.slice(-200))); }
}
(async () => {
  const ann = await db.user.create({ data: { email: "ann@x", name: "Ann", tags: ["a", "b"], balance: "12.50", settings: { theme: { dark: true } }, token: "6f9619ff-8b86-d011-b42d-00cf4fc964ff", birth: new Date("1990-02-03"),
    profile: { create: { id: "p1", bio: "hello", photo: Buffer.from("00ff", "hex") } },
    posts: { create: [{ title: "one", content: "first", rating: 1.5, views: 3 }, { title: "two", published: true }] } }, include: { profile: true, posts: { orderBy: { id: "asc" } } } });
  delete ann.createdAt; delete ann.updatedAt; say("created", ann);
  const bob = await db.user.create({ data: { email: "bob@x", role: "ADMIN", token: "6f9619ff-8b86-d011-b42d-00cf4fc964fe", settings: { n: 5 }, likes: { connect: [{ id: ann.posts[0].id }, { id: ann.posts[1].id }] } } });
  await db.user.createMany({ data: [3, 4, 5].map(n => ({ email: `u${n}@x`, name: `U${n}`, balance: n, token: `6f9619ff-8b86-d011-b42d-00cf4fc964f${n}` })) });
  await shown("skip", () => db.user.createMany({ data: [{ email: "u3@x", token: "6f9619ff-8b86-d011-b42d-00cf4fc964a0" }, { email: "u6@x", token: "6f9619ff-8b86-d011-b42d-00cf4fc964a1" }], skipDuplicates: true }));
  await shown("returned", () => db.user.createManyAndReturn({ data: [{ email: "u7@x", token: "6f9619ff-8b86-d011-b42d-00cf4fc964a2" }], select: { id: true, email: true, role: true } }));
  await shown("filter", () => db.user.findMany({ where: { OR: [{ name: { contains: "u", mode: "insensitive" } }, { email: { startsWith: "ann" } }], NOT: { balance: { gt: 13 } } }, orderBy: [{ balance: "desc" }, { id: "asc" }], select: { email: true, balance: true } }));
  await shown("in", () => db.user.findMany({ where: { id: { in: [1, 2, 99] }, role: { not: "EDITOR" } }, orderBy: { id: "asc" }, select: { id: true } }));
  await shown("some", () => db.user.findMany({ where: { posts: { some: { published: true } } }, select: { email: true } }));
  await shown("none", () => db.user.findMany({ where: { posts: { none: {} } }, orderBy: { email: "asc" }, select: { email: true }, take: 2, skip: 1 }));
  await shown("cursor", () => db.user.findMany({ cursor: { id: 3 }, take: 2, skip: 1, orderBy: { id: "asc" }, select: { id: true } }));
  await shown("tags", () => db.user.findMany({ where: { tags: { has: "a" } }, select: { email: true, tags: true } }));
  await shown("tags2", () => db.user.findMany({ where: { tags: { hasEvery: ["a", "b"] } }, select: { email: true } }));
  await shown("tags3", () => db.user.findMany({ where: { tags: { hasSome: ["b", "z"] } }, select: { email: true } }));
  await shown("empty", () => db.user.count({ where: { tags: { isEmpty: true } } }));
  await shown("json", () => db.user.findMany({ where: { settings: { path: ["theme", "dark"], equals: true } }, select: { email: true } }));
  await shown("json2", () => db.user.findMany({ where: { settings: { path: ["n"], gte: 4 } }, select: { email: true } }));
  await shown("json3", () => db.user.findMany({ where: { settings: { equals: { n: 5 } } }, select: { email: true } }));
  await shown("date", () => db.user.findMany({ where: { birth: { lt: new Date("2000-01-01") } }, select: { email: true, birth: true } }));
  await shown("liked", () => db.post.findMany({ where: { likedBy: { some: { email: "bob@x" } } }, orderBy: { title: "desc" }, include: { likedBy: { select: { email: true } }, author: { select: { name: true } } } }));
  await shown("counts", () => db.user.findMany({ orderBy: [{ posts: { _count: "desc" } }, { id: "asc" }], take: 2, select: { email: true, _count: { select: { posts: true, likes: true } } } }));
  await shown("aggregate", () => db.user.aggregate({ _sum: { balance: true }, _avg: { balance: true }, _max: { id: true }, _count: { name: true, _all: true } }));
  await shown("group", () => db.user.groupBy({ by: ["role"], _count: true, _sum: { balance: true }, having: { balance: { _sum: { gte: 0 } } }, orderBy: { role: "asc" } }));
  await shown("distinct", () => db.user.findMany({ distinct: ["role"], orderBy: { id: "asc" }, select: { role: true } }));
  await shown("increment", () => db.post.update({ where: { id: ann.posts[0].id }, data: { views: { increment: 2 }, rating: { multiply: 2 } } }));
  await shown("push", () => db.user.update({ where: { email: "ann@x" }, data: { tags: { push: "c" }, name: { set: null } }, select: { tags: true, name: true } }));
  await shown("updateMany", () => db.user.updateMany({ where: { email: { endsWith: "@x" }, id: { gt: 3 } }, data: { role: "EDITOR" } }));
  await shown("upsert", () => db.category.upsert({ where: { name: "db" }, create: { name: "db" }, update: {} }));
  await shown("upsert again", () => db.category.upsert({ where: { name: "db" }, create: { name: "db" }, update: { children: { create: { name: "kv" } } }, include: { children: true } }));
  await shown("join table", () => db.postCategory.create({ data: { post: { connect: { id: ann.posts[0].id } }, category: { connectOrCreate: { where: { name: "kv" }, create: { name: "kv" } } }, at: new Date("2026-01-02T03:04:05.678Z") } }));
  await shown("compound", () => db.postCategory.findUnique({ where: { postId_name: { postId: ann.posts[0].id, name: "kv" } }, include: { category: { include: { parent: true } } } }));
  await shown("renamed", () => db.category.update({ where: { name: "kv" }, data: { name: "keys" }, include: { posts: true } }));
  await refused("unique", () => db.user.create({ data: { email: "ann@x", token: "6f9619ff-8b86-d011-b42d-00cf4fc96400" } }));
  await refused("unique of two", () => db.post.create({ data: { title: "one", authorId: ann.id } }));
  await refused("foreign", () => db.post.create({ data: { title: "x", authorId: 999 } }));
  await refused("restrict", () => db.user.delete({ where: { email: "ann@x" } }));
  await refused("missing", () => db.user.update({ where: { email: "no@x" }, data: { name: "x" } }));
  await refused("long", () => db.profile.create({ data: { id: "p2", bio: "x".repeat(201), userId: bob.id } }));
  await refused("rolled back", () => db.$transaction(async t => { await t.user.create({ data: { email: "t@x", token: "6f9619ff-8b86-d011-b42d-00cf4fc96401" } }); throw new Error("stop"); }));
  await shown("after", () => db.user.count({ where: { email: "t@x" } }));
  await shown("batch", () => db.$transaction([db.user.count(), db.post.deleteMany({ where: { title: "two" } }), db.post.count()], { isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead }));
  await shown("raw", () => db.$queryRaw`SELECT id, email, balance, "createdAt" IS NOT NULL AS made, tags FROM users WHERE id = ${bob.id}`);
  await shown("raw join", () => db.$queryRaw(Prisma.sql`SELECT email FROM users WHERE id IN (${Prisma.join([1, 2])}) ORDER BY id`));
  await shown("execute", () => db.$executeRaw`UPDATE users SET name = ${"Z"} WHERE email = ${"u5@x"}`);
  await shown("cascade", () => db.profile.count());
  await shown("gone", () => db.user.delete({ where: { email: "u3@x" }, select: { email: true } }));
  await shown("disconnect", () => db.user.update({ where: { id: bob.id }, data: { likes: { set: [] } }, select: { likes: true } }));
  await db.$disconnect();
})().catch(e => { console.log("FAILED", e.message, e.meta); process.exit(1); });
