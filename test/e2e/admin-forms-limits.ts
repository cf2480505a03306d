import { UNLIMITED_PROJECT } from '#manager/contract'
import { ADMIN_WORLD } from './admin-world.ts'
import { check, choose, flip, type FormRow, type, unfold } from './admin-forms.ts'
import { GIB } from './admin-world-agents.ts'

const [, VISION, SPEECH] = ADMIN_WORLD.admin?.groups ?? []
const [, STUDENTS] = ADMIN_WORLD.admin?.policies ?? []
const CHEMISTRY = 'chemistry'
const GROUP = ADMIN_WORLD.resourceGroups?.[1]

/** Policies, presets, domains, projects and resource groups. */
export const LIMIT_FORMS: readonly FormRow[] = [
  {
    title: 'creates a resource policy',
    page: 'policies',
    open: 'Create a resource policy',
    fill: [
      type('Name', 'guests'),
      async form => {
        await form.getByLabel('CPU: Unlimited').uncheck()
        await form.getByLabel('CPU', { exact: true }).fill('4')
        await form.getByRole('button', { name: 'Limit a model' }).click()
        await form.getByLabel('Model of limit 1').fill('A100 80GB')
        await form.getByLabel('GPUs of limit 1').fill('0.5')
        await form.getByLabel('Sessions at the same time: Unlimited').uncheck()
        await form.getByLabel('Sessions at the same time', { exact: true }).fill('2')
        await form.getByLabel('Idle timeout: Unlimited').uncheck()
        await form.getByLabel('Idle timeout', { exact: true }).fill('90m')
        await form.getByLabel('Size of all own folders: Unlimited').uncheck()
        await form.getByLabel('Size of all own folders', { exact: true }).fill('100')
        await form.getByLabel('Files in all own folders: Unlimited').uncheck()
        await form.getByLabel('Files in all own folders', { exact: true }).fill('1000000')
      },
      type('Storage hosts', 'local, nas-1'),
      choose('Network of sessions', 'Only these names'),
      type('Host names', 'pypi.org\n*.example.org'),
      choose('Default network', 'No network'),
    ],
    submit: 'Create',
    sends: 'createResourcePolicy',
    body: {
      name: 'guests',
      limits: { cpu: '4' },
      gpuLimits: [{ model: 'A100 80GB', gpus: '0.5' }],
      maxConcurrentSessions: 2,
      maxContainersPerSession: null,
      idleTimeoutSeconds: 5400,
      maxLifetimeSeconds: null,
      allowedNames: ['pypi.org', '*.example.org'],
      defaultNames: [],
      maxFolders: null,
      maxFolderBytes: 100 * GIB,
      maxFolderFiles: 1_000_000,
      allowedStorageHosts: ['local', 'nas-1'],
    },
    reply: {},
    says: 'guests created.',
  },
  {
    title: 'edits a resource policy, and leaves what was not touched as it is',
    page: 'policies',
    open: 'Edit students',
    fill: [
      type('Sessions at the same time', '3'),
      async form => {
        await form.getByRole('button', { name: 'Limit a model' }).click()
        await form.getByLabel('Model of limit 2').fill('T4')
      },
    ],
    submit: 'Save',
    sends: 'updateResourcePolicy',
    params: { name: 'students' },
    body: {
      limits: STUDENTS?.limits,
      gpuLimits: [
        { model: 'H100', gpus: '2' },
        { model: 'T4', gpus: '1' },
      ],
      maxConcurrentSessions: 3,
      maxContainersPerSession: null,
      idleTimeoutSeconds: 7200,
      maxLifetimeSeconds: null,
      allowedNames: null,
      defaultNames: null,
      maxFolders: 20,
      maxFolderBytes: null,
      maxFolderFiles: null,
      allowedStorageHosts: null,
    },
    reply: {},
    says: 'students saved.',
  },
  {
    title: 'deletes a resource policy',
    page: 'policies',
    open: 'Delete unused',
    submit: 'Delete',
    sends: 'deleteResourcePolicy',
    params: { name: 'unused' },
    says: 'unused deleted.',
    admin: { policies: STUDENTS ? [{ ...STUDENTS, name: 'unused', users: 0, keypairs: 0 }] : [] },
  },
  {
    title: 'creates a preset',
    page: 'presets',
    open: 'Create a preset',
    fill: [
      ...[type('Name', 'Tiny'), type('CPU', '0.5'), type('RAM', '512 MiB'), type('Shared memory', '64 MiB')],
      ...[type('GPU', '1'), type('GPU model', 'H100'), type('GPU memory, at least', '40 GiB')],
    ],
    submit: 'Create',
    sends: 'createPreset',
    body: {
      name: 'Tiny',
      slots: { cpu: '0.5', mem: String(512 * 2 ** 20), 'cuda.device': '1' },
      gpu: { model: 'H100', memory: String(40 * 2 ** 30) },
      shmem: String(64 * 2 ** 20),
    },
    reply: {},
    says: 'Tiny created.',
  },
  {
    title: 'edits a preset',
    page: 'presets',
    open: 'Edit Small',
    fill: [type('CPU', '2')],
    submit: 'Save',
    sends: 'updatePreset',
    params: { name: 'Small' },
    body: { slots: { cpu: '2', mem: '2g' }, gpu: null, shmem: null },
    reply: {},
    says: 'Small saved.',
  },
  {
    title: 'deletes a preset',
    page: 'presets',
    open: 'Delete Small',
    submit: 'Delete',
    sends: 'deletePreset',
    params: { name: 'Small' },
    says: 'Small deleted.',
  },
  {
    title: 'creates a domain',
    page: 'domains',
    open: 'Create a domain',
    fill: [
      type('Name', 'physics'),
      type('Description', 'Department of physics'),
      choose('Network of sessions', 'No network'),
      choose('Default network', 'Only these names'),
      type('Host names of the default network', 'pypi.org'),
    ],
    submit: 'Create',
    sends: 'createDomain',
    body: {
      name: 'physics',
      description: 'Department of physics',
      limits: {},
      gpuLimits: [],
      allowedRegistries: null,
      allowedNames: [],
      defaultNames: ['pypi.org'],
    },
    reply: {},
    says: 'physics created.',
  },
  {
    title: 'edits a domain',
    page: 'domains',
    open: `Edit ${CHEMISTRY}`,
    fill: [
      type('Description', 'Chemistry'),
      async form => {
        await form.getByLabel('GPUs of limit 1').fill('4')
      },
      check('Images of all registries'),
    ],
    submit: 'Save',
    sends: 'updateDomain',
    params: { name: CHEMISTRY },
    body: {
      description: 'Chemistry',
      limits: { cpu: '256', mem: String(2048 * GIB), 'cuda.device': '16' },
      gpuLimits: [{ model: 'H100', gpus: '4' }],
      allowedRegistries: null,
      allowedNames: null,
      defaultNames: null,
    },
    reply: {},
    says: `${CHEMISTRY} saved.`,
  },
  {
    title: 'activates a domain',
    page: 'domains',
    open: `Activate ${CHEMISTRY}`,
    sends: 'updateDomain',
    params: { name: CHEMISTRY },
    body: { active: true },
    reply: {},
    says: `${CHEMISTRY} is active.`,
  },
  {
    title: 'deletes a domain after its name is typed',
    page: 'domains',
    open: `Delete ${CHEMISTRY}`,
    fill: [type('Type the name to confirm', CHEMISTRY)],
    submit: 'Delete',
    sends: 'deleteDomain',
    params: { name: CHEMISTRY },
    reply: { name: CHEMISTRY, members: 0, sessions: 0 },
    says: `${CHEMISTRY} deleted.`,
  },
  {
    title: 'creates a project',
    page: 'projects',
    open: 'Create a project',
    fill: [
      type('Name', 'robots'),
      choose('Domain', CHEMISTRY),
      type('Description', 'Arms'),
      async form => {
        await form.getByLabel('Size of all folders of the project: Unlimited').uncheck()
        await form.getByLabel('Size of all folders of the project', { exact: true }).fill('2048')
        await form.getByLabel('Files in all folders of the project: Unlimited').uncheck()
        await form.getByLabel('Files in all folders of the project', { exact: true }).fill('500000')
      },
    ],
    submit: 'Create',
    sends: 'createGroup',
    body: {
      name: 'robots',
      description: 'Arms',
      limits: {},
      gpuLimits: [],
      ...UNLIMITED_PROJECT,
      maxFolderBytes: 2 ** 41,
      maxFolderFiles: 500_000,
      domain: CHEMISTRY,
    },
    reply: {},
    says: 'robots created.',
  },
  {
    title: 'edits a project',
    page: 'projects',
    open: 'Edit vision',
    fill: [
      type('Name', 'seeing'),
      async form => {
        await form.getByLabel('GPUs of limit 1').fill('0.25')
      },
    ],
    submit: 'Save',
    sends: 'updateGroup',
    params: { id: VISION?.id ?? '' },
    body: {
      name: 'seeing',
      description: VISION?.description,
      limits: VISION?.limits,
      gpuLimits: [{ model: 'A100', gpus: '0.25' }],
      ...UNLIMITED_PROJECT,
      maxFolderBytes: 1.5 * 2 ** 30,
      maxFolderFiles: 250_000,
    },
    reply: {},
    says: 'seeing saved.',
  },
  {
    title: 'deactivates a project',
    page: 'projects',
    open: 'Deactivate vision',
    submit: 'Deactivate',
    sends: 'updateGroup',
    params: { id: VISION?.id ?? '' },
    body: { active: false },
    reply: {},
    says: 'vision is deactivated.',
  },
  {
    title: 'deletes a project after its name is typed',
    page: 'projects',
    open: 'Delete speech',
    fill: [type('Type the name to confirm', 'speech')],
    submit: 'Delete',
    sends: 'deleteGroup',
    params: { id: SPEECH?.id ?? '' },
    reply: { name: 'default/speech', members: 0, sessions: 0 },
    says: 'speech deleted.',
  },
  {
    title: 'creates a resource group',
    page: 'resource-groups',
    open: 'Create a resource group',
    fill: [
      type('Name', 'h200'),
      choose('Who is next', 'Fair share'),
      choose('On which agent', 'Spread out'),
      check('Waiting sessions may interrupt others'),
    ],
    submit: 'Create',
    sends: 'createResourceGroup',
    body: {
      name: 'h200',
      description: '',
      engine: 'berth',
      sequencer: 'drf',
      selector: 'dispersed',
      options: { interruption: { minRunSeconds: 1800, warnSeconds: 120 } },
    },
    reply: {},
    says: 'h200 created.',
  },
  {
    title: 'gives a resource group to Slurm',
    page: 'resource-groups',
    open: 'Create a resource group',
    fill: [
      type('Name', 'cluster'),
      choose('Run by', 'Slurm'),
      type('Partition', 'a100'),
      type('Time limit (minutes)', '720'),
      unfold('What sessions may choose'),
      type('Longest limit (minutes)', '1440'),
      type('QOS to choose', 'normal  urgent'),
      check("Jobs are of the sessions' owners"),
      type('Users in Slurm', 'ada@example.org ada'),
    ],
    submit: 'Create',
    sends: 'createResourceGroup',
    body: {
      name: 'cluster',
      description: '',
      engine: 'slurm',
      sequencer: 'fifo',
      selector: 'concentrated',
      options: {
        slurm: {
          partition: 'a100',
          timeLimitMinutes: 720,
          maxTimeLimitMinutes: 1440,
          offers: { qos: ['normal', 'urgent'] },
          people: { users: { 'ada@example.org': 'ada' } },
        },
      },
    },
    reply: {},
    says: 'cluster created.',
  },
  {
    title: 'edits a resource group',
    page: 'resource-groups',
    open: 'Edit gpu-large',
    fill: [type('Description', 'Two racks')],
    submit: 'Save',
    sends: 'updateResourceGroup',
    params: { name: 'gpu-large' },
    body: {
      description: 'Two racks',
      engine: 'berth',
      sequencer: GROUP?.sequencer,
      selector: GROUP?.selector,
      options: GROUP?.options,
    },
    reply: {},
    says: 'gpu-large saved.',
  },
  {
    title: 'closes a resource group with a message',
    page: 'resource-groups',
    open: 'Close gpu-large',
    fill: [type('Message for users (optional)', 'Back on Monday.')],
    submit: 'Pause this group',
    sends: 'updateResourceGroup',
    params: { name: 'gpu-large' },
    body: { active: false, notice: 'Back on Monday.' },
    reply: GROUP,
    says: 'Nothing starts in gpu-large now.',
  },
  {
    title: 'opens a resource group, whose message goes',
    page: 'resource-groups',
    open: 'Open gpu-large again',
    sends: 'updateResourceGroup',
    params: { name: 'gpu-large' },
    body: { active: true, notice: '' },
    reply: GROUP,
    says: 'Sessions start in gpu-large again.',
    world: { resourceGroups: GROUP ? [{ ...GROUP, active: false, notice: 'Old news.' }] : [] },
  },
  {
    title: 'deletes a resource group',
    page: 'resource-groups',
    open: 'Delete gpu-large',
    submit: 'Delete',
    sends: 'deleteResourceGroup',
    params: { name: 'gpu-large' },
    says: 'gpu-large deleted.',
  },
  {
    title: 'lets a domain use a resource group',
    page: 'resource-groups',
    open: 'Who may use gpu-large',
    fill: [choose('Domain or project', 'Domain chemistry')],
    submit: 'Allow',
    sends: 'grantResourceGroupAccess',
    params: { name: 'gpu-large' },
    body: { domain: CHEMISTRY },
    reply: { items: [{ kind: 'domain', id: CHEMISTRY, name: CHEMISTRY }] },
    says: 'Domain chemistry',
  },
  {
    title: 'withdraws the access of a user to a resource group',
    page: 'resource-groups',
    open: 'Who may use gpu-large',
    submit: 'Withdraw the access: User researcher-1@lab.example.org',
    sends: 'withdrawResourceGroupAccess',
    params: { name: 'gpu-large' },
    query: '?userId=01990000-0000-7000-8000-00000000ad01',
    says: 'Domain default',
  },
  {
    title: 'lets a domain use a resource group, in the table of all',
    page: 'resource-groups/access',
    open: [],
    fill: [flip('Domain chemistry may use gpu-large', true)],
    sends: 'grantResourceGroupAccess',
    params: { name: 'gpu-large' },
    body: { domain: CHEMISTRY },
    reply: { items: [{ kind: 'domain', id: CHEMISTRY, name: CHEMISTRY }] },
    says: 'Single users',
  },
  {
    title: 'withdraws the access of a project, in the table of all at the address that shows the projects of a domain',
    page: 'resource-groups/access?open=default',
    open: [],
    fill: [
      async (_, page) => {
        const inherited = page.getByRole('switch', { name: 'Project default/vision may use default' })
        await inherited.and(page.getByRole('switch', { checked: false })).waitFor()
        await inherited.locator('..').getByText('Through its domain').waitFor()
      },
      flip('Project default/vision may use gpu-large', false),
    ],
    sends: 'withdrawResourceGroupAccess',
    params: { name: 'gpu-large' },
    query: `?groupId=${VISION?.id}`,
    says: 'Single users',
  },
]
