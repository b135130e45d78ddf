// What node programs do with the kernel: fails where something is refused.
const { Worker, isMainThread, parentPort } = require('worker_threads')
const assert = require('assert'), cp = require('child_process'), crypto = require('crypto'), dns = require('dns'), fs = require('fs')
const net = require('net'), dgram = require('dgram'), os = require('os'), path = require('path'), zlib = require('zlib')

if (!isMainThread) {
  parentPort.postMessage(crypto.randomBytes(8).length)
  return
}
if (process.argv[2] === 'child') {
  process.on('message', m => { process.send(m + 1); process.disconnect() })
  return
}

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'node-'))
const event = (e, name) => new Promise((ok, no) => { e.once(name, ok); e.once('error', no) })

async function main () {
  assert.strictEqual((await Promise.all([1, 2, 3, 4].map(() => event(new Worker(__filename), 'message')))).length, 4)

  assert.strictEqual(cp.execFileSync('cat', { input: 'x' }).toString(), 'x')
  const sleeper = cp.spawn('sleep', ['60'], { detached: true })
  sleeper.kill()
  await event(sleeper, 'exit')
  const child = cp.fork(__filename, ['child'])
  child.send(41)
  assert.strictEqual(await event(child, 'message'), 42)
  await event(child, 'exit')

  const watcher = fs.watch(dir)
  const change = event(watcher, 'change')
  await fs.promises.writeFile(dir + '/f', 'text')
  await change
  watcher.close()
  await fs.promises.copyFile(dir + '/f', dir + '/g')
  await fs.promises.cp(dir, dir + '-copy', { recursive: true })
  for await (const e of await fs.promises.opendir(dir)) assert(e.name)
  fs.utimesSync(dir + '/f', 1, 1)
  fs.chmodSync(dir + '/f', 0o600)
  fs.symlinkSync('f', dir + '/l')
  fs.linkSync(dir + '/f', dir + '/h')
  fs.renameSync(dir + '/g', dir + '/G')
  fs.truncateSync(dir + '/f', 2)
  fs.statfsSync?.(dir)
  const h = await fs.promises.open(dir + '/f', 'a+')
  await h.sync()
  await h.datasync()
  await h.close()
  fs.rmSync(dir, { recursive: true })
  fs.rmSync(dir + '-copy', { recursive: true })

  const reduced = process.env.SBX_TIER === 'reduced' // it has no loopback, and no Unix sockets but pairs
  for (const at of reduced ? [] : [{ port: 0, host: '127.0.0.1' }, { path: path.join(os.tmpdir(), 'node-' + process.pid) }]) {
    const server = net.createServer(c => c.pipe(c)).listen(at)
    await event(server, 'listening')
    const client = net.connect(at.path ? at : { port: server.address().port, host: at.host })
    client.write('echo')
    assert.strictEqual((await event(client, 'data')).toString(), 'echo')
    client.destroy()
    server.close()
  }
  if (!reduced) {
    const udp = dgram.createSocket('udp4')
    udp.bind(0, '127.0.0.1')
    await event(udp, 'listening')
    udp.send('x', udp.address().port, '127.0.0.1')
    await event(udp, 'message')
    udp.close()
  }
  await dns.promises.lookup('name.invalid').then(() => assert(false), () => {})

  crypto.generateKeyPairSync('ed25519')
  crypto.scryptSync('a', 'b', 16)
  assert.strictEqual(zlib.gunzipSync(zlib.gzipSync('x')).toString(), 'x')
  os.networkInterfaces(); os.cpus(); os.freemem(); os.loadavg(); os.userInfo(); os.getPriority()
  os.setPriority(19)
  process.umask(0o22)
  process.title = 'x'
  console.log('all of it works')
}
main().catch(e => { console.error(e); process.exit(1) })
