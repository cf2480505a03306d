import { type AgentImage } from '#agent/contract'
import { PYTHON } from '../fixtures/scripted-agent.ts'

export const APP = 'bench'

/** Image and size of the simulated containers of a crowd. */
export const CROWD_IMAGE: AgentImage = {
  ...PYTHON,
  references: ['berth-bench/crowd:1'],
  id: `sha256:${'c'.repeat(64)}`,
  apps: [
    {
      name: APP,
      title: 'Bench',
      protocol: 'tcp',
      path: '/',
      port: 7000,
      command: ['bench'],
      environ: {},
      secret: 'none',
    },
  ],
}
