import { defineStore } from 'pinia'
import { computed, ref, shallowRef, watch } from 'vue'
import { type SessionId } from '#manager/contract'
import { type FolderPort, type Tunnel, type TunnelId, type TunnelTraffic } from '#proxy/contract'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'

/** The open tunnels of this user on this computer, kept current by host events. */
export const useTunnels = defineStore('tunnels', () => {
  const { host } = useServices()
  const account = useAccount()
  const byId = ref(new Map<TunnelId, Tunnel>())
  const rates = ref(new Map<TunnelId, Pick<TunnelTraffic, 'upPerSecond' | 'downPerSecond'>>())
  /** The port that serves all folders by SFTP; null if it is closed. */
  const folderPort = shallowRef<FolderPort | null>(null)
  const error = ref<unknown>(null)
  const closing = ref(new Set<TunnelId>())
  const all = computed(() => [...byId.value.values()].toSorted((a, b) => a.openedAt.localeCompare(b.openedAt)))
  let listening = false

  const put = (tunnel: Tunnel) => byId.value.set(tunnel.id, tunnel)
  const remove = (id: TunnelId) => {
    byId.value.delete(id)
    rates.value.delete(id)
    closing.value.delete(id)
  }

  function carried(traffic: readonly TunnelTraffic[]): void {
    for (const { id, bytesUp, bytesDown, ...rate } of traffic) {
      const tunnel = byId.value.get(id)
      if (!tunnel) continue
      byId.value.set(id, { ...tunnel, bytesUp, bytesDown })
      rates.value.set(id, rate)
    }
  }

  /** Fetches the tunnels and follows them from then on. */
  async function load(): Promise<void> {
    if (!listening) {
      listening = true
      host.on('tunnel:changed', put)
      host.on('tunnel:traffic', carried)
      host.on('tunnel:closed', ({ id }) => remove(id))
      host.on('sftp:changed', port => (folderPort.value = port))
    }
    await look()
  }

  /** Fetches the tunnels once. Events of the host would take one of the few connections that browsers open to a server. */
  async function look(): Promise<void> {
    try {
      const [tunnels, port] = await Promise.all([host.tunnel.list(), host.sftp.state()])
      byId.value = new Map(tunnels.map(tunnel => [tunnel.id, tunnel]))
      folderPort.value = port
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }

  // Tunnels end with the last sign-in of their user. After a new sign-in, fetch them again: events in between were missed.
  watch(
    () => account.state,
    state => {
      if (state !== 'signed_in' || !listening) return
      host.reconnect()
      void load()
    },
  )

  /** Closes a tunnel. @throws the host's error; the tunnel then stays listed */
  async function close(id: TunnelId): Promise<void> {
    closing.value.add(id)
    try {
      await host.tunnel.close(id)
      remove(id)
    } finally {
      closing.value.delete(id)
    }
  }

  /** Closes the SFTP port of the folders. @throws the host's error */
  async function closeFolderPort(): Promise<void> {
    await host.sftp.close()
    folderPort.value = null
  }

  const ofSession = (id: SessionId) => all.value.filter(tunnel => tunnel.sessionId === id)
  /** Number of open listeners. */
  const count = computed(() => byId.value.size + (folderPort.value ? 1 : 0))
  return { all, rates, folderPort, count, error, closing, load, look, close, closeFolderPort, put, ofSession }
})
