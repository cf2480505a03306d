export default {
  notices: 'Notifications',
  unread: '{count, plural, =0 {No unread notifications} one {# unread notification} other {# unread notifications}}',
  none: 'Nothing has happened yet',
  clear: 'Clear all',
  running: '{name} is running',
  failed: '{name} failed',
  ended: '{name} has ended',
  ending: '{name} ends soon',
  invitation: '{person} invites you to the folder {name}',
  desktop: 'Desktop notifications',
  desktopHint:
    'Tells you when a session runs, ends or is about to be ended, and of invitations, also while another window is in front. On this computer only.',
  desktopOn: 'Show desktop notifications',
  desktopDenied: 'The browser blocks notifications of this page. Allow them in the settings of the browser.',
  desktopMissing: 'This browser has no desktop notifications.',
} as const
