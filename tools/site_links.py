"""site_links.py - hooks of mkdocs.yml: links to files that the site does not have, as sources and folders, become text; and
a bar that was escaped for a table loses its backslash."""
import os
import re


def on_page_markdown(markdown, page, config, files, **_):
    folder = os.path.dirname(page.file.src_path)

    def keep(link):
        target = os.path.normpath(os.path.join(folder, link.group(2).split('#')[0]))
        return link.group(0) if ':' in link.group(2) or files.get_file_from_path(target) or \
            link.group(2).startswith('#') else link.group(1)

    return re.sub(r'\[([^\]\n]+(?:\n[^\]\n]+)?)\]\(([^)\s]+)\)', keep, markdown)


def on_page_content(html, **_):
    return html.replace('\\|', '|')
