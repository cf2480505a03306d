import type en from '../en/preferences.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '설정',
  appearance: '화면',
  appearanceHint: '이 컴퓨터에 저장됩니다.',
  language: '언어',
  theme: '테마',
  density: '표의 행 간격',
  comfortable: '넓게',
  compact: '좁게',

  newSessions: '새 세션',
  newSessionsHint:
    '시작 대화 상자에 처음 채워지는 이미지, 자원, 폴더입니다. 자주 쓰는 설정을 대화 상자에서 템플릿으로 저장한 다음 여기에서 고르세요.',
  beginsWith: '시작 대화 상자의 처음 설정',
  lastLaunch: '이 컴퓨터에서 마지막으로 시작한 설정',
  noTemplates: '아직 템플릿이 없습니다.',
  openLaunch: '시작 대화 상자 열기',

  script: '시작 스크립트',
  scriptHint:
    '새 세션마다 앱이 시작되기 전에 한 번 실행되는 bash 스크립트입니다. 출력은 세션의 로그에 있습니다. 최대 15분 동안 실행됩니다.',
  noScript: '시작 스크립트가 없습니다.',
  scriptSize: '{size}, {when} 변경됨',
  writeScript: '스크립트 작성',
  editScript: '스크립트 편집',
  scriptSaved: '시작 스크립트를 저장했습니다. 새 세션에서 실행됩니다.',
  scriptRemoved: '시작 스크립트를 제거했습니다.',
  removeScript: '시작 스크립트를 제거할까요?',
  removeScriptText: '새 세션은 스크립트 없이 시작됩니다. 실행 중인 세션은 바뀌지 않습니다.',

  dotfiles: '닷파일',
  dotfilesHint:
    '새 세션의 홈에 놓이는 <code>.bashrc</code> 같은 파일입니다. 최대 {files, number}개, 모두 합해 {size}까지 저장할 수 있습니다.',
  noDotfiles: '닷파일이 없습니다.',
  dotfileFacts: '{size} · {mode} · {when} 변경됨',
  inFolder: '<b>{folder}</b> 폴더를 마운트한 세션에는 이 파일이 없습니다. 폴더에 직접 넣으세요.',
  newDotfile: '새 닷파일',
  editDotfile: '{path} 편집',
  removeDotfile: '{path} 제거',
  removeDotfileTitle: '닷파일 {path} 제거',
  removeDotfileText: '새 세션은 이 파일 없이 시작됩니다. 실행 중인 세션에는 남아 있습니다.',
  dotfileSaved: '{path} 파일을 저장했습니다. 새 세션에 들어갑니다.',
  edit: '편집',
  path: '홈 안의 경로',
  pathHint: '.bashrc 또는 .config/git/config처럼 점으로 시작합니다',
  pathTaken: '이미 있는 파일입니다. 목록에서 편집하세요.',
  pathWrong: '점으로 시작하는 경로를 입력하세요. 이름으로 . 또는 ..은 사용할 수 없습니다',
  mode: '권한',
  modeHint: '644는 모든 프로그램이 읽고, 600은 내 프로그램만 읽고, 755는 실행할 수 있습니다',
  modeWrong: '4~7로 시작하는 0~7의 숫자 세 개를 입력하세요',
  content: '내용',
  discardTitle: '변경 내용을 버릴까요?',
  discard: '버리기',
  discardText: '입력한 내용이 저장되지 않습니다.',
} satisfies Translation<typeof en>
