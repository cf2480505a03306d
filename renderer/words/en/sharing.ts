import { defineWords } from '../i18n.ts'

const en = {
  title: 'Share “{name}”',
  email: 'E-mail address of a member of the project {project}',
  emailFault: 'Enter an e-mail address',
  permission: 'The member may',
  permissionOf: 'What {email} may do',
  view: 'View',
  use: 'Use',
  viewMeans: 'View: see the session in the list, its details, timeline, charts and log.',
  useMeans:
    'Use: also open its apps and terminals, and connect by SSH and SFTP. The member acts in it as you: reads and changes its files and the folders that it mounts, and reads your dotfiles and environment variables in it.',
  add: 'Share',
  shared: '{email} can see the session now.',
  people: 'Shared with',
  loading: 'Loading the members',
  nobody: 'Nobody yet',
  remove: 'Stop sharing with {email}',
  removeMeans: 'Connections of a member end at once when you stop sharing.',
} as const

export default en
export const t = defineWords('sharing', en)
