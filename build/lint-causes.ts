/**
 * Files whose errors have an English text without a key for translations, with the reason why no page shows it. Every other error has its
 * cause from `because()` (`manager/contract/causes/causes.ts`).
 */
const ENGLISH_ONLY: Readonly<Record<string, readonly string[]>> = {
  'Written to the log or the terminal of an admin while a process starts or joins, before it serves anybody.': [
    'manager/config.ts',
    'manager/secrets/*.ts',
    'manager/store/embedded/*.ts',
    'manager/store/migrate.ts',
    'manager/store/check-server.ts',
    'agent/config.ts',
    'agent/directory-lock.ts',
    'agent/control/{control,identity,introduce,join-string,manager-link,manager-proof,pinned-tls,reach,replaced-by}.ts',
    'agent/docker/engine-claim.ts',
    'agent/gpu/simulated.ts',
    'agent/kernel/session-user.ts',
    'proxy/web/config.ts',
    'proxy/web/tls/tls-config.ts',
  ],
  'Run on a host that leaves, for its log only.': ['agent/leaving/leave-engine.ts'],
  'Programs on the machine of the manager: `berth backup`, `berth restore`.': [
    'manager/backup/backup.ts',
    'manager/backup/format.ts',
    'manager/backup/open-database.ts',
    'manager/backup/sealed-key.ts',
    'manager/store/operation/snapshot.ts',
  ],
  'Told to agents, which write it to their log.': [
    'manager/agent-link/handshake.ts',
    'manager/agent-link/read-message.ts',
    'manager/agent-link/unauthenticated-peers.ts',
    'manager/tunnels/agent-upgrade.ts',
  ],
  'Part of the page, which has no table of the English texts: names the keys itself, or passes on what a server says.':
    ['manager/contract/client/call-route.ts', 'manager/contract/errors.ts'],
  'Told to clients of the Model Context Protocol.': ['manager/mcp/*.ts'],
  'Told to clients of SFTP, and to the relay in front of it.': ['manager/sftp/gateway.ts'],
  'Requests that are no valid HTTP, or that no page of Berth makes: for authors of other clients.': [
    'manager/files/listing.ts',
    'manager/http/**/*.ts',
    'manager/session-files/*.ts',
    'manager/tunnels/websocket-upgrade.ts',
    'manager/uploads/read-metadata.ts',
    'proxy/http-origins/refusal-answer.ts',
    'proxy/settings.ts',
    'proxy/web/host-routes.ts',
    'proxy/web/program-apps/program-route.ts',
    'proxy/web/server.ts',
    'proxy/web/static-files.ts',
    'proxy/web/tls/plain-answers.ts',
    'proxy/web/unread-requests.ts',
  ],
  'Programs that OpenSSH starts: their text goes to its terminal.': ['proxy/connect-app.ts'],
}

/** Keeps the causes of errors in their tables, which are translated. */
export const CAUSES = {
  files: ['manager/**/*.ts', 'agent/**/*.ts', 'proxy/**/*.ts'],
  excludeFiles: ['**/*.test.ts', ...Object.values(ENGLISH_ONLY).flat()],
  selectors: ['NewExpression[callee.name="AppError"] Property[key.name="why"]'],
  message:
    'Take the cause from because(), so that the console shows it in the language of the page; or say in build/lint-causes.ts why no page shows it.',
} as const
